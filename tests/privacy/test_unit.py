import pytest

from tacita.domain import Boolean, Domain, Identifier
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit

PERSONS = Domain(person="id", attributes=[Identifier(name="id"), Boolean(name="b")])
ROWS = Domain(attributes=[Boolean(name="b")])


@pytest.mark.parametrize("text", ["row", "person:id:3", "person:a:b:2"])
def test_texts(text):
    assert str(Unit.parse(text)) == text
    assert Unit.from_dict(Unit.parse(text).as_dict()) == Unit.parse(text)


@pytest.mark.parametrize("text", ["", "rows", "person", "person:id", "person:id:x", "person::3", "person:id:0"])
def test_bad_texts(text):
    with pytest.raises(InvalidInput):
        Unit.parse(text)


def test_recurrent_data_is_not_protected_row_by_row():
    with pytest.raises(InvalidInput, match="person:id:MAX_ROWS"):
        Unit.row().check(PERSONS)
    Unit.of_person("id", max_rows=1).check(PERSONS)
    Unit.row().check(ROWS)
    with pytest.raises(InvalidInput, match="unit"):
        Unit.of_person("other", max_rows=1).check(PERSONS)
    with pytest.raises(InvalidInput, match="unit"):
        Unit.of_person("id", max_rows=1).check(ROWS)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_bounds(rows):
    with pytest.raises(InvalidInput, match="max_rows"):
        Unit.of_person("id", max_rows=rows)
