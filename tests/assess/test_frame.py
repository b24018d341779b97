import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.case import Case, read_case
from tacita.assess.frame import read_frame, write_frame
from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.errors import DataError, InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), bins=10, integer=True),
        Numeric(name="dose", bounds=(0, 1), bins=4),
        Date(name="born", bounds=(dt.date(2000, 1, 1), dt.date(2020, 12, 31)), by="year"),
        Ordinal(name="school", levels=["none", "basic", "high"], missing=True),
        Categorical(name="town", levels=["a", "b, c", "d"], other=True),
        Boolean(name="smokes"),
    ]
)


def column(name, values, **more):
    return read_frame(DOMAIN, pa.table({name: values}), **more).values[:, 0]


def test_values_are_places_and_codes():
    table = pa.table(
        {
            "age": [17, None],
            "dose": [0.25, 1.0],
            "born": [dt.date(2000, 1, 11), None],
            "school": ["high", None],
            "town": ["b, c", "elsewhere"],
            "smokes": [True, False],
        }
    )
    frame = read_frame(DOMAIN, table)
    bucket = read_frame(DOMAIN, table.set_column(4, "town", [["b, c", "(other)"]]))
    assert np.array_equal(frame.values, bucket.values, equal_nan=True)
    first, second = frame.values
    assert first.tolist() == [17, 0.25, 10967, 2, 1, 1]
    assert np.isnan(second[[0, 2, 3]]).all()
    assert second[4] == -1
    assert frame.codes[:, 0].tolist() == [1, -1]
    assert frame.ordered.tolist() == [True, True, True, True, False, False]
    assert frame.widths[[0, 3, 4]].tolist() == [99, 2, 1]


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("age", "17..24", set(range(17, 25))),
        ("age", "10..19", set(range(10, 20))),  # a bin of the schema
        ("age", "90..99", set(range(90, 100))),
        ("age", "*", set(range(100))),
        ("age", "(missing) or 3..4", {3, 4}),
        ("age", "42", {42}),
        ("school", "none..high", {0, 1, 2}),
        ("school", "{none, high}", {0, 2}),
        ("town", '{"b, c", d}', {1, 2}),
        ("town", '"b, c"', {1}),
        ("town", "*", {0, 1, 2}),
        ("born", "2000-01-03..2000-01-05", {10959, 10960, 10961}),
        ("smokes", "TRUE", {1}),
    ],
)
def test_a_label_is_read_as_each_value_that_it_allows(name, text, allowed):
    drawn = column(name, [text] * 4000, rng=np.random.default_rng(1))
    assert set(drawn) == allowed
    if len(allowed) < 20:  # and evenly
        counts = np.unique(drawn, return_counts=True)[1]
        assert counts.min() > 0.8 * 4000 / len(allowed)


def test_numbers_that_are_not_whole_lie_anywhere_in_their_bin():
    drawn = column("dose", ["0.25..0.5"] * 2000, rng=np.random.default_rng(1))
    assert 0.25 <= drawn.min() < 0.26
    assert 0.49 < drawn.max() <= 0.5


def test_text_is_read_as_the_schema_reads_it():
    """What counts the rows and what attacks them agree on who is missing, and on what is yes."""
    domain = Domain(attributes=DOMAIN.attributes, nulls=["", "NA", "?"])
    table = pa.table(
        {
            "age": ["17", "NA", "?"],
            "school": ["phd", "NA", "high"],
            "town": ["a", "?", "elsewhere"],
            "smokes": ["Yes", "f", "0"],
        }
    )
    frame = read_frame(domain, table)
    codes = domain.encode(table.to_batches()[0], frame.names)
    for place, name in enumerate(frame.names):
        known = codes[name] < len(domain[name].labels)
        assert np.array_equal(frame.codes[:, place], np.where(known, codes[name].astype(int), -1)), name


@pytest.mark.parametrize("values", [[float("inf"), 3.0, float("-inf")], ["inf", "3", "-Infinity"]])
def test_a_number_that_is_not_finite_is_missing(values):
    assert np.array_equal(column("age", values), [np.nan, 3, np.nan], equal_nan=True)


def test_a_frame_knows_which_cells_left_several_values_open():
    table = pa.table({"age": ["17..24", "3"], "school": ["high", None], "town": ["a", "*"], "smokes": ["yes", "no"]})
    frame = read_frame(DOMAIN, table)
    assert frame.opened == {"age", "town"}
    assert frame.take([1]).only(["town", "school"]).opened == {"town"}
    assert not frame.only(["school", "smokes"]).open_cells
    assert not read_frame(DOMAIN, pa.table({"age": ["5..5", "7"]})).open_cells
    assert read_frame(DOMAIN, pa.table({"age": ["(missing) or 5"]})).open_cells


def test_nodes_of_a_hierarchy():
    drawn = column("town", ["north"] * 200, hierarchies={"town": {"north": ["a", "d"]}})
    assert set(drawn) == {0, 2}


@pytest.mark.parametrize(
    ("name", "text"),
    [("age", "young"), ("smokes", "often"), ("school", "{none, phd}"), ("born", "soon..later"), ("age", "3..inf")],
)
def test_what_cannot_be_read_is_refused_without_its_text(name, text):
    with pytest.raises(DataError, match=name) as refused:
        column(name, [text])
    assert text not in str(refused.value)


def test_a_case_needs_the_same_attributes():
    table = pa.table({"age": [1], "smokes": [True]})
    case = read_case(DOMAIN, real=table, released=[table.select(["age"])])
    assert case.names == ("age",)
    with pytest.raises(InvalidInput, match="another schema"):
        read_case(DOMAIN, real=table, released=[pa.table({"x": [1]})])
    with pytest.raises(InvalidInput, match="attributes"):
        Case(real=read_frame(DOMAIN, table), released=(case.first,))
    with pytest.raises(InvalidInput, match="rows"):
        read_case(DOMAIN, real=table, released=[table.slice(0, 0)])
    assert read_case(DOMAIN, real=table, released=[table]).only(["smokes"]).names == ("smokes",)


def test_a_frame_is_written_as_rows_of_the_schema(domain, tables):
    frame = read_frame(domain, tables["real"])
    written = write_frame(frame)
    assert np.array_equal(read_frame(domain, written).values, frame.values)
    for name in domain.names:
        assert np.array_equal(domain.encode(written, [name])[name], domain.encode(tables["real"], [name])[name])
    dated = Domain(
        attributes=[
            Date(name="day", bounds=(dt.date(2026, 1, 1), dt.date(2026, 12, 31)), by="month"),
            Numeric(name="n", bounds=(-5, 5), bins=2),
        ]
    )
    rows = pa.table({"day": ["2026-02-03", None], "n": [None, -1.5]})
    assert write_frame(read_frame(dated, rows)).to_pylist() == [
        {"day": dt.date(2026, 2, 3), "n": None},
        {"day": None, "n": -1.5},
    ]
