import sys

import pytest

from tacita.common.lazy import load_name

HOMES = {"number": "number_text", "gone": "number_text"}


def test_a_name_is_loaded_from_its_module():
    number = load_name("tacita.common", HOMES, "number")
    assert number is sys.modules["tacita.common.number_text"].number


@pytest.mark.parametrize("name", ["other", "__path__", "gone"])
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=name):
        load_name("tacita.common", HOMES, name)


def test_a_room_is_a_submodule():
    assert load_name("tacita", {}, "domain", ("domain",)) is sys.modules["tacita.domain"]
