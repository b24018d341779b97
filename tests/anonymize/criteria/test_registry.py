"""The table of criteria: names and help."""

from __future__ import annotations

from tacita.anonymize.criteria.registry import CRITERIA, all_parameters


def test_names_are_used_once_and_every_parameter_has_help():
    names = [each.name for each in all_parameters()]
    assert len(names) == len(set(names))
    for kind in CRITERIA:
        assert kind.name in names  # the bound has the name of the figure
    for each in all_parameters():
        assert each.help.endswith("."), each.name
