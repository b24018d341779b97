import pytest

from tacita.console.drafting import lines_of, schema_of
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
