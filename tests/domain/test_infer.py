import numpy as np
import pyarrow as pa
import pytest

from tacita.domain.infer import LEAST_HOLDERS, draft_domain, infer
from tacita.errors import DataError, NotPublic


@pytest.fixture
def drafted():
    n = 200
    table = pa.table(
        {
            "key": [f"p{i}" for i in range(n)],
            "number": list(range(n)),
            "age": [str(17 + i % 60) for i in range(n)],
            "weight": [50 + i / 7 for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
            "smokes": ["yes", "no"] * (n // 2),
            "born": [f"19{60 + i % 30}-0{1 + i % 9}-11" for i in range(n)],
            "town": ["rome", "turin"] * (n // 2 - 1) + ["only here", "?"],
            "empty": [None] * n,
        }
    )
    return infer(table.to_batches(max_chunksize=70))


def test_kinds(drafted):
    kinds = {name: drafted[name].kind for name in drafted}
    assert kinds == {
        "key": "identifier",
        "number": "identifier",
        "age": "numeric",
        "weight": "numeric",
        "sex": "categorical",
        "smokes": "categorical",
        "born": "date",
        "town": "categorical",
        "empty": "identifier",
    }


def test_the_extreme_person_does_not_stand_in_the_draft(drafted):
    assert drafted["weight"].bounds == (40, 80)
    assert drafted["born"].bounds[0].isoformat() == "1960-01-01"
    assert drafted["town"].levels == ("rome", "turin")
    assert drafted["town"].other
    assert drafted["town"].missing
    assert drafted.person is None


def test_everything_is_marked_until_confirmed(drafted):
    assert set(drafted.unconfirmed) == set(drafted.names)
    with pytest.raises(NotPublic):
        drafted.require_public()
    drafted.confirm().require_public()


def test_a_returning_identifier_is_taken_for_the_person():
    visits = pa.table({"patient": [f"p{i % 70}" for i in range(200)], "ward": ["a", "b"] * 100})
    assert infer(visits.to_batches()).person == "patient"


def test_values_that_are_all_different_are_not_levels():
    assert infer(pa.table({"x": ["a", "b", "c"]}).to_batches())["x"].kind == "identifier"


def test_nothing_to_read():
    with pytest.raises(DataError, match="no rows"):
        infer([])


def visits(persons=200, times=5, **more):
    rows = persons * times
    columns = {
        "case": [1000 + i // times for i in range(rows)],
        "ward": ["a", "b", "c"] * (rows // 3) + ["a"] * (rows % 3),
    }
    return pa.table(columns | {name: make(rows) for name, make in more.items()})


def test_whole_numbers_that_return_in_equal_parts_are_the_person():
    draft = infer(visits().to_batches())
    assert (draft["case"].kind, draft.person) == ("identifier", "case")


def test_quantities_are_no_persons():
    rng = np.random.default_rng(0)
    ages = np.clip(rng.normal(40, 15, 3000), 0, 99).astype(int)
    pay = rng.lognormal(8, 0.5, 3000).astype(int) // 50 * 50
    draft = infer(pa.table({"age": ages, "pay": pay}).to_batches())
    assert (draft["age"].kind, draft["pay"].kind, draft.person) == ("numeric", "numeric", None)


@pytest.mark.parametrize(
    "day", ["{:02d}/03/2021", "2021-03-{:02d} 10:00", "{:02d}.03.2021", "{:02d}-Mar-2021", "{:02d}:30"]
)
def test_a_date_is_never_the_person(day):
    rows = {
        "seen": [day.format(1 + i % 20) + ("" if i % 60 else "?") for i in range(600)],
        "patient": [f"p{i % 120}" for i in range(600)],
    }
    assert infer(pa.table(rows).to_batches()).person == "patient"
    del rows["patient"]
    assert infer(pa.table(rows).to_batches()).person is None


def test_levels_of_too_few_persons_are_kept_back():
    names = lambda rows: [f"name{(i // 5) % 50}" for i in range(rows)]  # noqa: E731
    ills = lambda rows: ["rare" if i < 5 else ["flu", "cold"][i % 2] for i in range(rows)]  # noqa: E731
    draft = infer(visits(nick=lambda rows: [f"n{i // 20}" for i in range(rows)], name=names, ill=ills).to_batches())
    assert draft["nick"].kind == "identifier"  # each is held by four persons
    assert draft["name"].kind == "identifier"
    assert draft["ill"].levels == ("cold", "flu")  # the third is held by one, in five rows
    assert draft["ill"].other


def test_without_persons_rows_are_counted():
    rows = {"x": ["a"] * 50 + ["b"] * LEAST_HOLDERS + ["c"] * (LEAST_HOLDERS - 1)}
    draft = infer(pa.table(rows).to_batches())
    assert (draft["x"].levels, draft["x"].other) == (("a", "b"), True)


@pytest.mark.parametrize(
    "values",
    [
        [17.0, 90.0],
        [10.0, 20.0],
        [-5.0, -1.0],
        [0.5, 0.75],
        [-3.0, 7.0],
        [1e308, -1e308],
        [5e-324, 5e-323],
        [1e15, 1e15 + 2],
    ],
)
def test_bounds_are_never_the_extremes(values):
    rows = [values[0], values[1], (values[0] + values[1]) / 2] * 20
    low, high = infer(pa.table({"x": rows}).to_batches())["x"].bounds
    assert low not in values
    assert high not in values
    if max(map(abs, values)) < 1e300:
        assert low < min(values) < max(values) < high


def test_dates_up_to_the_end_of_the_calendar():
    draft = infer(pa.table({"x": ["0001-01-01", "9999-12-31", "2001-01-01"] * 9}).to_batches())
    assert draft["x"].size > 9000
    draft = infer(pa.table({"x": ["2001-01-01", "2003-12-31", "2002-05-05"] * 9}).to_batches())
    assert [day.isoformat() for day in draft["x"].bounds] == ["2000-01-01", "2004-12-31"]


def test_text_that_is_not_utf8_is_refused():
    column = pa.array([b"caf\xe9", b"x"]).view(pa.string())
    with pytest.raises(DataError, match="not UTF-8") as caught:
        infer([pa.record_batch({"x": column})])
    assert "caf" not in str(caught.value)


def test_an_iterator_is_read_twice_too():
    assert infer(iter(visits(ill=lambda rows: ["flu"] * rows).to_batches()))["ill"].levels == ("flu",)


@pytest.mark.parametrize("rows", [1500, 3000, 20_000, 200_000])
def test_an_even_quantity_is_no_key(rows):
    """Before, pay between 900 and 9,000 was taken for a key: its values occur about equally often."""
    pay = np.random.default_rng(rows).integers(900, 9000, rows)
    assert infer(pa.table({"pay": pay}).to_batches())["pay"].kind == "numeric"


@pytest.mark.parametrize("each", [2, 5, 40])
def test_whole_numbers_with_as_many_rows_each_are_keys(each):
    case = np.random.default_rng(each).permutation(np.repeat(np.arange(300) * 7 + 1000, each))
    draft = infer(pa.table({"case": case}).to_batches())
    assert (draft["case"].kind, draft.person) == ("identifier", "case")


def test_amounts_in_other_marks_are_no_persons():
    rows = [f"{at % 200},5" for at in range(1000)]
    draft = draft_domain(pa.table({"income": rows, "age": [at % 60 for at in range(1000)]}).to_batches())
    assert draft.domain.person is None
    assert any("decimal ','" in note for note in draft.notes)


def test_edges_have_no_digits_of_rounding():
    edges = infer(pa.table({"x": [1.3, 2.0, 1.77] * 30}).to_batches())["x"].edges
    assert all(len(repr(edge)) <= 4 for edge in edges)
