"""A rule needs one line, and is an option everywhere."""

from __future__ import annotations

from tacita.anonymize.cells.registry import RULES, rule_parameters
from tacita.anonymize.parameters import parameters_of


def test_every_parameter_of_a_rule_is_an_option_that_may_be_left_out() -> None:
    known = {each.name: each for each in rule_parameters()}
    for kind in RULES:
        assert kind.name in known
        for each in parameters_of(kind):
            assert known[each.name].help.endswith(".")
        assert known[kind.name].default is None
