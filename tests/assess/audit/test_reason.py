"""A breach says why it is one, and what is no breach says nothing."""

import numpy as np
import pytest

from tacita.assess.audit import audit
from tacita.assess.audit.broken import BROKEN
from tacita.assess.audit.reason import coarse, reason_of

KINDS = {
    "laplace in floating point": "low bits",
    "fixed seed": "support",
    "vote of the true best": "support",
    "gradients without clipping": "support",
    "histogram, replace-one, sensitivity 1": "bias",
    "noise over k + 1 tables charged as one": "bias",
    "asked ten times, charged once": "bias",
}


@pytest.mark.parametrize("broken", [each for each in BROKEN if each.name in KINDS], ids=lambda each: each.name)
def test_why_each_broken_mechanism_is_broken(broken):
    found = audit(
        broken.mechanism,
        broken.one,
        broken.other,
        trials=20_000,
        rng=np.random.default_rng(2),
        delta=broken.delta,
        claimed=broken.claimed,
    )
    assert found.epsilon > broken.claimed
    assert found.reason.kind == KINDS[broken.name]
    assert found.as_dict()["reason"]["words"] == found.reason.words


def test_low_bits_of_one_number_among_several():
    """The line on which vectors differ most has no last digits to look at: each number is looked at by itself."""

    def run(value, times, rng):
        uniform = rng.random(times) - 0.5
        noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        return np.column_stack([rng.normal(size=times), value + noise, rng.normal(size=times)])

    found = audit(run, 0.0, 1.0, trials=20_000, rng=np.random.default_rng(1), claimed=1.0)
    assert found.reason.kind == "low bits"


def test_no_reason_without_a_breach():
    def run(value, times, rng):
        return value + np.rint(rng.laplace(size=times) * 2**10) / 2**10

    found = audit(run, 0, 1, trials=20_000, rng=np.random.default_rng(1), confidence=1 - 1e-7, claimed=1.0)
    assert found.reason is None
    assert reason_of(1.0, shown=1.0, rounded=None, hits=(9, 0), judged=10) is None


def test_what_rounding_does_not_change_is_not_rounded():
    whole = np.arange(100.0)
    assert coarse(whole.astype(int), whole.astype(int)) is None
    assert coarse(whole, whole) is None
    one, other = coarse(whole + 1e-9, whole)
    assert np.array_equal(one, other)
