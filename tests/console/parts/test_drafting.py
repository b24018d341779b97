import pytest

from tacita.console.parts.drafting import lines_of, schema_of
from tacita.demo.census import DOMAIN, simulate
from tacita.domain import Domain
from tacita.domain.infer import infer
from tacita.errors import InvalidInput, NotPublic


def test_a_schema_comes_back_as_it_was():
    schema = DOMAIN.as_dict()
    assert Domain.from_dict(schema_of(DOMAIN.title, lines_of(schema))) == DOMAIN


def test_a_draft_stays_private_until_every_line_is_public():
    draft = infer(simulate(300, 1).to_batches(), title="x").as_dict()
    lines = lines_of(draft)
    assert not any(line.public for line in lines)
    for line in lines[1:]:
        line.public = True
    with pytest.raises(NotPublic, match="age"):
        Domain.from_dict(schema_of("x", lines, draft["nulls"])).require_public()
    lines[0].public = True
    Domain.from_dict(schema_of("x", lines, draft["nulls"])).require_public()


def test_what_is_edited_is_what_is_said():
    lines = lines_of(infer(simulate(300, 1).to_batches(), title="x").as_dict())
    by = {line.name: line for line in lines}
    by["age"].low, by["age"].high, by["age"].bins = "0", "120", "12"
    by["sex"].levels = " female \nmale\n\nother sex"
    by["status"].kind = "ordinal"
    by["income"].kept = False
    by["region"].other, by["region"].role = True, "quasi-identifier"
    made = Domain.from_dict(schema_of("People", lines))
    assert made["age"].bounds == (0, 120)
    assert made["age"].size == 12
    assert made["sex"].levels == ("female", "male", "other sex")
    assert made["status"].kind == "ordinal"
    assert "income" not in made
    assert made["region"].other
    assert made["region"].role == "quasi-identifier"


def test_what_is_no_number_is_named():
    lines = lines_of(DOMAIN.as_dict())
    lines[0].low = "young"
    with pytest.raises(InvalidInput, match=r"age\.low"):
        schema_of("x", lines)
    with pytest.raises(InvalidInput, match="at least one"):
        schema_of("x", [])


NUMBERS = {
    "tacita": 1,
    "attributes": [
        {"name": "children", "kind": "numeric", "bounds": [0.0, 20.0], "integer": True},
        {"name": "income", "kind": "numeric", "bounds": [0.0, 1234567.5], "bins": 7},
        {"name": "seen", "kind": "date", "bounds": ["2020-01-01", "2021-12-31"]},
        {"name": "born", "kind": "date", "bounds": ["1920-01-01", "2019-12-31"], "by": "quarter"},
    ],
}


def test_blank_bins_and_steps_stay_what_the_schema_proposes():
    made = Domain.from_dict(schema_of("", lines_of(NUMBERS)))
    assert made == Domain.from_dict(NUMBERS)
    assert made["children"].size == 21
    assert made["seen"].by == "month"


def test_bins_that_cannot_be_left_blank_are_asked_for():
    lines = {line.name: line for line in lines_of(NUMBERS)}
    for name, part in (("income", "bins"), ("seen", "by")):
        before, lines[name].bins = lines[name].bins, ""
        with pytest.raises(InvalidInput, match=rf"{name}\.{part}"):
            schema_of("", list(lines.values()))
        lines[name].bins = before
    lines["income"].bins = "2.5"
    with pytest.raises(InvalidInput, match="whole number"):
        schema_of("", list(lines.values()))


def test_levels_that_differ_by_blanks_alone_can_be_registered():
    towns = {"name": "town", "kind": "categorical", "levels": ["Patras", "Patras ", "two\nlines"]}
    (line,) = lines_of({"attributes": [towns]})
    assert Domain.from_dict(schema_of("", [line]))["town"].levels == ("Patras", "Patras ", "two\nlines")
    line.levels = "Patras\nPatras \n Pisa "
    assert Domain.from_dict(schema_of("", [line]))["town"].levels == ("Patras", "Patras ", "Pisa")


def test_the_person_of_a_schema_stays_its_person():
    schema = {"attributes": [{"name": "who", "kind": "identifier"}, NUMBERS["attributes"][0]]}
    assert Domain.from_dict(schema_of("", lines_of(schema), person="who")).person == "who"
    assert Domain.from_dict(schema_of("", lines_of(schema))).person is None


def test_edges_follow_the_bounds():
    drafted = {"name": "age", "kind": "numeric", "bounds": [10, 80], "edges": [10, 20, 40, 80], "integer": True}
    (line,) = lines_of({"attributes": [drafted]})
    assert line.attribute()["edges"] == [10, 20, 40, 80]
    line.high = "100"
    assert line.attribute()["edges"] == [10, 20, 40, 100]
    line.low = "30"
    assert line.attribute()["edges"] == [30, 40, 100]
