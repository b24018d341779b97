import pytest

from tacita.anonymize.hierarchies.faults import MOST_FAULTS, cover_faults, path_faults, refuse
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.domain import Categorical
from tacita.errors import InvalidInput


def test_all_faults_are_named_at_once():
    rows = [["a", "p", "*"], ["b", "p", "*"], ["b", "p", "*"], ["c", "p", "q", "*"], ["d", "r", "*"], ["d", "s", "*"]]
    with pytest.raises(InvalidInput) as caught:
        Hierarchy.from_rows("x", rows)
    text = str(caught.value)
    assert "has 3 faults" in text
    for part in ("'c' has 4 instead of 3", "'d' stands below both 'r' and 's'", "twice: 'b'"):
        assert part in text


def test_levels_without_a_leaf_are_named_with_the_likely_misspelling():
    made = Hierarchy.from_rows("town", [["Berlin", "DE", "*"], ["Muenchen", "DE", "*"], ["Paris", "FR", "*"]])
    made.check(Categorical(name="town", levels=["Berlin", "Paris"]))  # more leaves than levels is no fault
    with pytest.raises(InvalidInput) as caught:
        made.check(Categorical(name="town", levels=["Berlin", "Munchen", "Paris", "Rome"]))
    assert "by the leaf 'Muenchen'?" in str(caught.value)
    assert "'Rome'" in str(caught.value)
    assert list(cover_faults(made.leaves, made.leaves)) == []


def test_a_level_without_text_and_several_roots():
    assert list(path_faults([("*", "", "a"), ("*", "p", "b")])) == ["a level without text, above 'a'"]
    (fault,) = path_faults([("DE", "a"), ("FR", "b")])
    assert "one root" in fault
    assert "last level *" in fault


def test_a_file_of_another_kind_has_a_short_error():
    with pytest.raises(InvalidInput, match=f"has {MOST_FAULTS} faults and more"):
        refuse("x", (f"fault {n}" for n in range(10_000)))
    refuse("x", [])
