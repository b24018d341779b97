"""The protocol of attacks: a part that is refused is skipped with its reason, and any other error is raised."""

import pytest

from tacita.assess.attacks.attack import Attack, Skipped, attempt, needs_rows
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate
from tacita.errors import InvalidInput

LEAK = Leak(name="a leak", attack=Rate(successes=1, trials=4), baseline=Rate(successes=0, trials=4))


def refuse():
    raise InvalidInput("must be another", field="secret", value="x")


def test_a_part_that_is_refused_is_skipped_with_its_reason():
    assert attempt("a part", lambda: LEAK) is LEAK
    skipped = attempt("a part", refuse)
    assert isinstance(skipped, Skipped)
    assert skipped.what == "a part"
    assert "must be another" in skipped.why


def test_a_fault_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        attempt("a part", lambda: 1 / 0)


def test_attacks_on_rows_need_rows(cases):
    case, options = cases["fresh"], AssessmentOptions()
    assert needs_rows(case, options) is None
    assert needs_rows(Case(real=case.real, released=(), models=("a model",)), options) == "It needs released rows."
    plain = Attack(name="a", title="A", question="Is it so?", needs="rows", run=lambda *_: [LEAK])
    assert plain.applies is needs_rows
    assert plain.as_dict() == {"name": "a", "title": "A", "question": "Is it so?", "needs": "rows"}
