import datetime as dt
import json
import math
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.errors import DataError, InvalidInput
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding, recode
from tacita.tables.recoding.axis import read_keys
from tacita.tables.recoding.render import ranks

AGE = Numeric(name="age", bounds=(0, 99), bins=9)
AXES = (Axis(name="age", kind="number", keys=(None, 1, 2.5)), Axis(name="pet", kind="set", keys=("cat", "dog")))
DOMAIN = Domain(
    attributes=[AGE, Categorical(name="pet", levels=["cat", "dog"]), Categorical(name="ill", levels=list("amqz"))]
)


def keys_of(attribute, column, nulls=("",)):
    indices, keys = read_keys(attribute, column, nulls)
    return [keys[i] for i in indices]


@pytest.mark.parametrize(
    ("attribute", "column", "wanted"),
    [
        (AGE, pa.array(["1", "1.0", "01", " 2.5 ", "", None, "nan"]), [1, 1, 1, 2.5, None, None, None]),
        (AGE, pa.array([1.0, 2.5, math.nan, None]), [1, 2.5, None, None]),
        (AGE, pa.array([1, 2**60 + 1, None]), [1, 2**60 + 1, None]),
        (AGE, pa.array([Decimal("1.50"), Decimal("2.00")]), [1.5, 2]),
        (AGE, pa.array(["1", "2", "1"]).dictionary_encode(), [1, 2, 1]),
        (Categorical(name="x", levels=["1"]), pa.array(["1", "1.0", "?"]), ["1", "(other)", None]),
        (Categorical(name="x", levels=["1"]), pa.array([1, 2, None]), ["1", "(other)", None]),
        (Categorical(name="x", levels=["a"]), pa.array([b"\xff", b"a"]), ["(other)", "a"]),
        (Ordinal(name="x", levels=["lo", "hi"]), pa.array(["hi", "lo"]), ["hi", "lo"]),
        (Boolean(name="x"), pa.array(["Yes", "0", "t"]), ["true", "false", "true"]),
        (Boolean(name="x"), pa.array([True, False, None]), ["true", "false", None]),
        (Date(name="x", bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1))), pa.array(["1970-01-03", None]), [2, None]),
        (
            Date(name="x", bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1))),
            pa.array([dt.datetime(1970, 1, 3, 23, 59), dt.datetime(1969, 12, 31, 23)]),
            [2, -1],
        ),
    ],
)
def test_values_by_what_they_mean(attribute, column, wanted):
    assert keys_of(attribute, column, ("", "?")) == wanted


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        (AGE, pa.array(["one"])),
        (AGE, pa.array(["inf"])),
        (Ordinal(name="x", levels=["lo", "hi"]), pa.array(["mid"])),
        (Boolean(name="x"), pa.array(["maybe"])),
        (Date(name="x", bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1))), pa.array(["soon"])),
    ],
)
def test_what_has_no_place_is_refused(attribute, column):
    with pytest.raises(DataError, match="out of domain"):
        read_keys(attribute, column, ("",))


def test_the_line_of_an_axis():
    axis = Axis(name="x", kind="number", keys=(None, 2, 5))
    assert (axis.line.tolist(), axis.width) == ([-1.0, 2.0, 5.0], 3.0)  # missing lies a whole width away
    assert Axis(name="x", kind="number", keys=(None, 2)).width == 1.0
    assert Axis(name="x", kind="number", keys=(2,)).width == 0.0
    assert Axis(name="x", kind="date", keys=(0,)).texts == ("1970-01-01",)
    assert Axis.from_dict(json.loads(json.dumps(axis.as_dict()))).keys == axis.keys


def some_recoding(**more):
    codes = np.array([[0, 0], [1, 0], [1, 1], [2, 1]], np.int32)
    classes = np.array([2, 1, 0, SUPPRESSED])
    labels = np.array([[1, 0], [1, 0], [0, 0]], np.int32)
    return Recoding.of(AXES, codes, classes, labels, [["none", "some"], ["{cat, dog}"]], **more)


def test_classes_with_the_same_labels_are_one_and_in_order():
    recoding = some_recoding()
    assert recoding.labels.tolist() == [[0, 0], [1, 0]]
    assert recoding.classes.tolist() == [0, 1, 1, SUPPRESSED]
    assert recoding.assign(np.array([[1, 1], [0, 0]], np.int32)).tolist() == [1, 0]
    again = Recoding.from_dict(json.loads(json.dumps(recoding.as_dict())))
    assert again.as_dict() == recoding.as_dict()
    with pytest.raises(DataError, match="not those that the recoding was made for"):
        recoding.assign(np.array([[2, 0]], np.int32))
    with pytest.raises(InvalidInput, match="recoding/1"):
        Recoding.from_dict({})


def test_too_many_combinations_to_number():
    wide = tuple(Axis(name=f"x{i}", kind="number", keys=tuple(range(100))) for i in range(12))
    codes = np.arange(36, dtype=np.int32).reshape(3, 12)
    recoding = Recoding.of(wide, codes, np.arange(3), np.zeros((3, 12), np.int32), [["*"]] * 12)
    assert recoding.combinations(codes[::-1]).tolist() == [2, 1, 0]
    with pytest.raises(DataError):
        recoding.combinations(codes + 50)


def test_rows_leave_sorted_and_only_what_was_asked_for():
    table = pa.table({"ill": ["z", "a", "m", "q"], "pet": ["dog", "cat", "cat", "dog"], "age": [1, None, 1, 2.5]})
    found = recode(some_recoding(), DOMAIN, table, ["ill"])
    assert found.to_pylist() == [
        {"age": "none", "pet": "{cat, dog}", "ill": "a"},
        {"age": "some", "pet": "{cat, dog}", "ill": "m"},
        {"age": "some", "pet": "{cat, dog}", "ill": "z"},
    ]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(1, 29), st.randoms(use_true_random=False))
def test_dealing_keeps_the_shares_and_does_not_depend_on_the_order(ills, first, shuffled):
    first = min(first, len(ills))
    axis = (Axis(name="age", kind="number", keys=(1,)),)
    codes, shares = np.zeros((2, 1), np.int32), np.array([first, len(ills) - first])
    recoding = Recoding.of(axis, codes, np.arange(2), np.array([[0], [1]], np.int32), [["p", "q"]], shares)
    domain = Domain(attributes=[AGE, Categorical(name="ill", levels=["a", "b", "c"])])
    results = []
    for _ in range(2):
        results.append(recode(recoding, domain, pa.table({"age": [1] * len(ills), "ill": ills}), ["ill"]))
        shuffled.shuffle(ills)
    assert results[0].equals(results[1])
    assert Counter(results[0]["age"].to_pylist())["p"] == first
    # each class gets its part of every value, give or take what dealing by number must cost
    for ill in "abc":
        got = sum(1 for row in results[0].to_pylist() if row == {"age": "p", "ill": ill})
        assert abs(got - ills.count(ill) * first / len(ills)) <= 2.5
    with pytest.raises(DataError):
        recode(recoding, domain, pa.table({"age": [1] * (len(ills) + 1), "ill": [*ills, "a"]}), ["ill"])


@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=20))
def test_ranks_tell_bytes_apart(values):
    found = ranks(pa.array(values, pa.float64()))
    shown = [None if value is None else np.float64(value).tobytes() for value in values]
    for i, one in enumerate(shown):
        for j, other in enumerate(shown):
            assert (found[i] == found[j]) == (one == other)
            if values[i] is not None and values[j] is not None and values[i] < values[j]:
                assert found[i] < found[j]


def test_ranks_of_texts_and_what_cannot_leave():
    assert ranks(pa.array(["b", None, "a", "b"])).tolist() == [1, 2, 0, 1]
    with pytest.raises(InvalidInput, match="nested"):
        ranks(pa.array([[1], [2]]))
