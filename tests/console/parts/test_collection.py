from __future__ import annotations

import datetime as dt

import pytest

from tacita.collect.planning.plan import plan_collection
from tacita.console.parts.collection import (
    EPSILONS,
    RESPONDENTS,
    Row,
    closing_time,
    error_curve,
    mode_taken,
    not_asked,
    pairs_and_singles,
    read_by_respondents,
    rows_of,
    schema_of,
    tables_after,
    tables_of,
)
from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput, SchemaError
from tacita.tables.workload import Workload

ROWS = [Row(name="smokes", question="Do you smoke?", levels="yes, no"), Row(name="region", levels=" a ,b, c,")]
BODY = {"schema": schema_of(ROWS), "tables": [["smokes", "region"]], "epsilon": 1.0, "respondents": 2000}


def test_rows_become_a_schema_and_come_back():
    domain = Domain.from_dict(schema_of(ROWS))
    assert domain["region"].all_labels == ("a", "b", "c")
    assert domain["smokes"].description == "Do you smoke?"
    again = rows_of(schema_of(ROWS))
    assert schema_of(again) == schema_of(ROWS)


def test_what_is_no_simple_list_stays_as_it_was_declared():
    domain = Domain(
        person="who",
        attributes=[
            Identifier(name="who"),
            Numeric(name="age", bounds=(0, 99), edges=(0, 18, 99), integer=True),
            Boolean(name="works", missing=True),
            Categorical(name="town", levels=["Rome, Lazio", "Athens"]),
            Categorical(name="sex", levels=["f", "m"], other=True),
        ],
    )
    rows = rows_of(domain.as_dict())
    assert [row.name for row in rows] == ["age", "works", "town", "sex"]  # whoever answers is not asked for their key
    assert [row.fixed for row in rows] == [True, True, True, False]
    made = Domain.from_dict(schema_of(rows))
    for name in made.names:
        assert made[name].all_labels == domain[name].all_labels


@pytest.mark.parametrize("text", ["{", "- a\n- b", "", "tacita: 1", "attributes: [{name: a, kind: colour}]"])
def test_a_paste_that_is_no_schema_is_refused(text):
    with pytest.raises((InvalidInput, SchemaError)):
        rows_of(text)


def test_a_paste_may_be_json_or_yaml():
    assert rows_of('{"tacita": 1, "attributes": [{"kind": "boolean", "name": "a"}]}')[0].name == "a"
    assert rows_of("attributes:\n- {kind: categorical, name: a, levels: [x, y]}")[0].levels == "x, y"


@pytest.mark.parametrize(
    ("rows", "field"),
    [([], "attributes"), ([Row(levels="a, b")], "name"), ([Row(name="x", levels="a")], "x"), ([*ROWS, ROWS[0]], None)],
)
def test_bad_rows_are_named(rows, field):
    with pytest.raises((InvalidInput, SchemaError)) as refused:
        schema_of(rows)
    assert field is None or refused.value.field == field


def test_tables_are_picked_and_written():
    possible, first = pairs_and_singles(["a", "b", "c"])
    assert first == [("a", "b"), ("a", "c"), ("b", "c")]
    assert set(possible) == {*first, ("a",), ("b",), ("c",)}
    assert pairs_and_singles(["a"])[1] == [("a",)]
    assert all(len(table) == 1 for table in pairs_and_singles(list("abcdefg"))[1])  # 21 pairs would be many
    assert tables_of([("a", "b"), ("a", "gone")], "c + b + a, b + a", ["a", "b", "c"]) == [["a", "b"], ["c", "b", "a"]]
    with pytest.raises(InvalidInput, match="has an unknown attribute"):
        tables_of([], "a + d", ["a"])
    with pytest.raises(InvalidInput, match="at least one"):
        tables_of([], "", ["a"])


def test_closing_times_are_utc():
    assert closing_time(" ") is None
    assert closing_time("2030-12-31T18:00") == dt.datetime(2030, 12, 31, 18, tzinfo=dt.UTC)
    with pytest.raises(InvalidInput, match="date"):
        closing_time("tomorrow")


@pytest.mark.parametrize(("along", "places"), [("respondents", RESPONDENTS), ("epsilon", EPSILONS)])
def test_errors_fall_along_the_curve(along, places):
    first, second = error_curve(BODY, "tables", along)
    assert first.label == "smokes x region"
    assert list(first.x) == list(places)
    assert all(a >= b for a, b in zip(first.y, first.y[1:], strict=False))
    assert first.y[0] > 3 * first.y[-1]
    assert second.label == "smokes"


def test_the_curve_passes_through_what_the_planner_says():
    planned = plan_collection(
        Domain.from_dict(BODY["schema"]),
        Workload.of(*BODY["tables"]),
        respondents=BODY["respondents"],
        epsilon=BODY["epsilon"],
        mode="tables",
    ).as_dict()
    (curve, _) = error_curve(BODY, "tables", "respondents")
    assert curve.y[list(curve.x).index(2000)] == planned["predictions"][0]["published"]


def test_the_mode_that_was_taken_is_read_off_the_plan():
    one, pair, three = ({"attributes": list(names)} for names in ("a", "ab", "abc"))
    assert mode_taken({"mode": "singles", "questions": [one]}, [["b", "a"]]) == "singles"
    assert mode_taken({"mode": "tables", "questions": [pair, one]}, [["b", "a"]]) == "tables"
    assert mode_taken({"mode": "tables", "questions": [three, one]}, [["b", "a"]]) == "views"


def test_respondents_read_the_loss_of_their_own_question():
    told = read_by_respondents(BODY, "tables")
    assert [ask for ask, _ in told[0].asks] == ["Do you smoke?", "region"]
    assert sum(each.share for each in told) == pytest.approx(1.0)
    for each in told:
        assert each.epsilon <= 1.0
        assert each.odds == pytest.approx(2.718281828, rel=1e-6)
        assert "device" in each.said


def test_a_new_attribute_joins_tables_and_a_renamed_one_keeps_its_own():
    two = [("a", "b")]
    # typed letter by letter: c, then ch
    first = tables_after(two, ["a", "b", "c"], {"": "c"}, ["a", "b"])
    assert first == [("a", "b"), ("a", "c"), ("b", "c")]
    assert tables_after(first, ["a", "b", "ch"], {"c": "ch"}, ["a", "b", "c"]) == [("a", "b"), ("a", "ch"), ("b", "ch")]
    # the name of another on the way to one's own
    assert tables_after(two, ["a", "b"], {"": "b"}, ["a", "b"]) == two
    assert tables_after(two, ["a", "b", "b2"], {"b": "b2"}, ["a", "b"]) == [("a", "b"), ("a", "b2"), ("b", "b2")]
    # many attributes: each new one by itself
    many = list("abcdefg")
    assert tables_after([("a", "b")], [*many, "h"], {"": "h"}, many) == [("a", "b"), ("h",)]
    # what was deselected stays so, and what was taken away goes
    assert tables_after([("a",)], ["a", "b"], {}, ["a", "b"]) == [("a",)]
    assert tables_after([("a", "b"), ("b",)], ["b"], {}, ["b"]) == [("b",)]


def test_attributes_in_no_table_are_found():
    assert not_asked(["a", "b", "c"], [["b", "a"]]) == ["c"]
    assert not_asked(["a"], [["a"]]) == []
