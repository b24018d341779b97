"""Every method is on every surface by one line."""

from __future__ import annotations

import pytest

from tacita import anonymize
from tacita.anonymize.masking.registry import STEPS, step_parameters
from tacita.anonymize.masking.text import read_step
from tacita.anonymize.parameters import parameters_of
from tacita.wire import MaskedRequest


@pytest.mark.parametrize("name", STEPS)
def test_every_method_is_described(name: str) -> None:
    kind = STEPS[name]
    assert kind.step == name
    assert kind.summary.endswith(".")
    assert kind.main in [each.name for each in parameters_of(kind)]
    assert read_step(name, kind.form.split(" or ")[-1]).step == name  # its example can be read
    assert name in MaskedRequest.model_fields
    assert getattr(anonymize, kind.__name__) is kind
    assert all(each.help for each in parameters_of(kind))


def test_options_have_the_names_of_the_methods() -> None:
    assert [each.name for each in step_parameters()] == list(STEPS)
    assert list(STEPS)[-1] == "suppress_locally"  # nothing may change its keys afterwards
