import numpy as np
import pyarrow as pa
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.keys import new_keys, with_keys


def test_keys_are_new_and_distinct():
    rng = np.random.default_rng(1)
    assert new_keys(3, rng=rng, first=8).to_pylist() == [8, 9, 10]
    drawn = new_keys(2000, "random", rng=rng).to_pylist()
    assert len(set(drawn)) == 2000
    assert {len(key) for key in drawn} == {32}
    assert new_keys(5, "random", rng=np.random.default_rng(2)) != new_keys(5, "random", rng=np.random.default_rng(3))
    assert new_keys(0, rng=rng).to_pylist() == new_keys(0, "random", rng=rng).to_pylist() == []


def test_rows_get_a_first_column_and_keep_their_mark():
    rows = pa.table({"x": [1, 2]}).replace_schema_metadata({"tacita": "{}"})
    keyed = with_keys(rows, "id", rng=np.random.default_rng(1))
    assert keyed.column_names == ["id", "x"]
    assert keyed.schema.metadata == rows.schema.metadata
    for name in ("x", ""):
        with pytest.raises(InvalidInput):
            with_keys(rows, name, rng=np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="keys"):
        new_keys(1, "names", rng=np.random.default_rng(1))
