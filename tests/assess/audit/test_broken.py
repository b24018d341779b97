"""The auditor catches every mechanism that is broken on purpose."""

import numpy as np
import pytest

from tacita.assess.audit import audit, judge
from tacita.assess.audit.broken import BROKEN


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_every_broken_mechanism_is_caught(broken):
    found = audit(
        broken.mechanism,
        broken.one,
        broken.other,
        trials=100_000,
        rng=np.random.default_rng(3),
        delta=broken.delta,
        confidence=0.999,
    )
    verdict = judge(broken.name, broken.claimed, delta=broken.delta, audited=found, why=broken.why)
    assert verdict.word == "breach"
    assert verdict.as_dict()["why"]
