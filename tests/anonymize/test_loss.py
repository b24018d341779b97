import math

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.labels import recoding_of
from tacita.anonymize.loss import discernibility, gcp, loss_of, ncp
from tacita.anonymize.quasi import read_distinct_rows
from tacita.domain import Categorical, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True),
        Categorical(name="pet", levels=["cat", "dog", "eel", "cod"]),
        Ordinal(name="level", levels=["low", "mid", "high"]),
    ]
)
TABLE = pa.table(
    {
        "age": [10, 20, 20, 50, 60, 60],
        "pet": ["cat", "dog", "cat", "eel", "cod", "cod"],
        "level": ["low", "low", "mid", "high", "high", "low"],
    }
)
PETS = Hierarchy.from_tree("pet", {"*": {"mammal": ["cat", "dog"], "fish": ["eel", "cod"]}})
CLASSES = [0, 0, 0, 1, 1, 1]


def rows_and_recoding(classes=CLASSES, **options):
    distinct = read_distinct_rows(DOMAIN, TABLE, ["age", "pet", "level"], **options)
    of_item = np.empty(len(distinct.codes), np.int64)
    of_item[distinct.of_row] = classes
    return distinct, recoding_of(distinct, of_item)


def test_readings_by_hand():
    distinct, recoding = rows_and_recoding(hierarchies={"pet": PETS})
    wanted = {
        "published": [[10 / 50, 1 / 3, 1 / 2], [10 / 50, 1 / 3, 1.0]],
        "hierarchy": [[10 / 50, 2 / 4, None], [10 / 50, 2 / 4, None]],
        "code range": [[10 / 50, 1 / 3, 1 / 2], [10 / 50, 1 / 3, 1.0]],
        "flat": [[10 / 50, 1, 1], [10 / 50, 1, 1]],
        "value share": [[10 / 50, 2 / 4, 2 / 3], [10 / 50, 2 / 4, 2 / 3]],
    }
    for reading, table in wanted.items():
        if reading == "hierarchy":
            with pytest.raises(InvalidInput, match="needs a hierarchy"):
                ncp(distinct, recoding, reading)
            continue
        np.testing.assert_allclose(sorted(ncp(distinct, recoding, reading).tolist()), sorted(table))


def test_the_hierarchical_reading_and_value_sets():
    tree = {"pet": PETS, "level": Hierarchy.from_tree("level", {"*": {"a": ["low", "mid"], "b": ["high"]}})}
    distinct, recoding = rows_and_recoding(hierarchies=tree)
    found = ncp(distinct, recoding, "hierarchy")
    assert found[:, 1].tolist() == [0.5, 0.5]
    assert sorted(found[:, 2].tolist()) == [2 / 3, 1.0]
    distinct, recoding = rows_and_recoding()
    assert ncp(distinct, recoding)[:, 1].tolist() == pytest.approx([1 / 3, 1 / 3])
    with pytest.raises(InvalidInput, match="must be published"):
        ncp(distinct, recoding, "guess")


def test_all_measures_of_one_recoding():
    distinct, recoding = rows_and_recoding([0, 0, 0, 1, 1, -1])
    found = loss_of(distinct, recoding, k=2)
    age, pet, level = (3 * 0.2 + 2 * 0.2 + 1) / 6, (3 / 3 + 2 / 3 + 1) / 6, (3 / 2 + 0 + 1) / 6
    assert found.by_attribute == pytest.approx({"age": age, "pet": pet, "level": level})
    assert found.gcp == pytest.approx((age + pet + level) / 3) == pytest.approx(gcp(distinct, recoding))
    assert (found.discernibility, found.suppressed, found.average_class) == (9 + 4 + 6, 1, 1.25)
    assert discernibility(np.array([2, 2]), 0) == 8


def test_entropy_by_hand():
    distinct, recoding = rows_and_recoding()
    count = {"age": {10: 1, 20: 2, 50: 1, 60: 2}, "pet": {"cat": 2, "dog": 1, "eel": 1, "cod": 2}}
    count["level"] = {"low": 3, "mid": 1, "high": 2}
    covered = [{"age": 3, "pet": 3, "level": 4}, {"age": 3, "pet": 3, "level": 6}]
    lost = most = 0.0
    for row, place in zip(TABLE.to_pylist(), CLASSES, strict=True):
        for name, value in row.items():
            lost += math.log(covered[place][name] / count[name][value])
            most += math.log(6 / count[name][value])
    assert loss_of(distinct, recoding, k=1).entropy == pytest.approx(lost / most)


def test_a_constant_column_and_a_missing_value():
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 9), integer=True), Numeric(name="y", bounds=(0, 9), bins=3)]
    )
    distinct = read_distinct_rows(domain, pa.table({"x": [4, 4, 4], "y": [1.0, 2.0, None]}), ["x", "y"])
    recoding = recoding_of(distinct, np.zeros(3, np.int64))
    assert ncp(distinct, recoding).tolist() == [[0.0, 1.0]]
    assert recoding.texts == (("4",), ("(missing) or 1..2",))
