"""Trained models keep what they claim; a claim that is too small is refuted, with the reason."""

import numpy as np
import pytest

from tacita.assess.audit.models import audit_model, neighbouring_tables
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget


def audited(kind, budget, **more):
    rng = np.random.default_rng(1)
    return audit_model(kind, budget, trials=400, rng=rng, confidence=1 - 1e-7, source=SeededSource(1), **more)


@pytest.mark.parametrize("kind", ["linear", "logistic", "trees", "bayes"])
def test_models_keep_what_they_claim(kind):
    verdict = audited(kind, Budget.pure(2.0))
    assert (verdict.word, verdict.why) == ("consistent", "")


@pytest.mark.parametrize("kind", ["linear", "trees", "bayes"])
def test_a_claim_that_is_too_small_is_refuted(kind):
    """The same models at 40 times the epsilon: the attack has the strength to see that."""
    verdict = audited(kind, Budget.pure(20.0), claimed=0.5)
    assert verdict.word == "breach"
    assert verdict.audited.reason.kind in ("support", "bias")
    assert verdict.why == verdict.audited.reason.words


def test_tables_are_neighbours():
    one, other = neighbouring_tables()
    assert other.slice(0, one.num_rows).equals(one)
    assert other.num_rows == one.num_rows + 1


def test_what_cannot_be_audited():
    with pytest.raises(InvalidInput, match="model"):
        audited("forest", Budget.pure(1.0))
    with pytest.raises(InvalidInput, match="epsilon"):
        audited("bayes", Budget.zcdp(0.1))
