import numpy as np

from tacita.assess.audit.library import audit_broken, audit_library
from tacita.noise import SeededSource


def test_the_library_keeps_what_it_claims():
    found = list(audit_library(40_000, np.random.default_rng(1), confidence=0.999, source=SeededSource(1)))
    assert len(found) == 19
    for verdict in found:
        assert verdict.word == "consistent", verdict
        if verdict.exact is not None:
            assert verdict.exact > 0.9 * verdict.claimed, verdict
    reached = [verdict.reached for verdict in found if "response" in verdict.name or "Laplace" in verdict.name]
    assert min(reached) > 0.6


def test_the_broken_ones_do_not():
    assert all(verdict.word == "breach" for verdict in audit_broken(60_000, np.random.default_rng(2)))
