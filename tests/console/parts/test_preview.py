import pytest

from tacita.console.parts.drafting import Line
from tacita.console.parts.preview import preview_of


def test_bins_are_shown_as_the_cells_that_they_make():
    line = Line(name="age", kind="numeric", low="0", high="100", bins="4", missing=True)
    found = preview_of(line)
    assert len(found.cells) == 5
    line.bins = "20"
    assert len(preview_of(line).cells) == 21
    assert not found.coarser


def test_a_quasi_identifier_has_its_coarser_groups_the_finest_first():
    line = Line(
        name="age", kind="numeric", low="0", high="99", bins="20", role="quasi-identifier", rest={"integer": True}
    )
    found = preview_of(line)
    sizes = [len(level) for level in found.coarser]
    assert len(sizes) >= 2
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 1  # the root, which says nothing, is left out
    dates = Line(name="seen", kind="date", low="2020-01-01", high="2021-12-31", bins="month", role="quasi-identifier")
    assert any("2020" in level for level in preview_of(dates).coarser)


def test_a_private_draft_is_previewed_for_its_steward():
    line = Line(name="age", kind="numeric", low="0", high="10", bins="2", rest={"derived": ["bounds"]})
    assert len(preview_of(line).cells) == 2


@pytest.mark.parametrize(("low", "bins"), [("a", "4"), ("0", "x"), ("200", "4"), ("0", "")])
def test_what_is_wrong_is_said_in_place_of_cells(low, bins):
    found = preview_of(Line(name="age", kind="numeric", low=low, high="100", bins=bins))
    assert found.wrong
    assert not found.cells
