"""The private key of a shuffled release: it fits its own tables in their order, and no others."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.assess.origins import Origins
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True, missing=True),
        Categorical(name="sex", levels=("f", "m")),
    ]
)
REAL = pa.table({"age": [20, None, 40, 50], "sex": ["f", "m", "m", "f"]})
ORDERS = (np.array([2, 0, 3, 1]), np.array([3, 2, 1, 0]))
RELEASED = tuple(REAL.take(pa.array(order)) for order in ORDERS)
KEY = Origins.of(DOMAIN, real=REAL, released=RELEASED, rows=ORDERS)


def test_it_names_the_real_row_of_each_released_row(tmp_path):
    KEY.write(tmp_path / "key.parquet")
    read = Origins.read(tmp_path / "key.parquet")
    for places in ((0, 1), (1, 0), (1,)):
        found = read.belongs(DOMAIN, real=REAL, released=[RELEASED[place] for place in places])
        assert [each.tolist() for each in found] == [ORDERS[place].tolist() for place in places]


def test_texts_of_a_csv_are_the_same_rows():
    texts = pa.table({"age": ["20", "", "40.0", "50"], "sex": REAL["sex"]})
    assert KEY.belongs(DOMAIN, real=texts, released=RELEASED)[0].tolist() == ORDERS[0].tolist()


def test_it_says_that_it_is_private_and_is_written_once(tmp_path):
    KEY.write(tmp_path / "key.parquet")
    about = json.loads(pq.read_schema(tmp_path / "key.parquet").metadata[b"tacita"])
    assert about["private"].startswith("PRIVATE")
    with pytest.raises(FileExistsError):
        KEY.write(tmp_path / "key.parquet")


@pytest.mark.parametrize(
    ("real", "released", "says"),
    [
        (REAL.take(pa.array([1, 0, 2, 3])), RELEASED[:1], "in their order"),
        (REAL.slice(1), RELEASED[:1], "in their order"),
        (REAL, [RELEASED[0].take(pa.array([1, 0, 2, 3]))], "in its order"),
        (REAL, [RELEASED[0].slice(1)], "in its order"),
        (REAL, [RELEASED[0].drop_columns(["sex"])], "lacks"),
    ],
)
def test_other_tables_are_refused(real, released, says):
    with pytest.raises(InvalidInput, match=says):
        KEY.belongs(DOMAIN, real=real, released=released)


def test_what_is_no_key(tmp_path):
    (tmp_path / "text.parquet").write_text("no parquet")
    pq.write_table(REAL, tmp_path / "rows.parquet")
    for name in ("text.parquet", "rows.parquet", "nothing.parquet"):
        with pytest.raises(InvalidInput, match="key of origins"):
            Origins.read(tmp_path / name)
