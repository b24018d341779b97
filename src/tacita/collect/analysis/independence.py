"""Tests of independence on collected tables: free, because they look at releases and tallies only.

    wald_test                  any release with a covariance; instant; chi-square in the limit
    monte_carlo_test           a tally; runs the protocol again under the hypothesis; for few reports and thin strata
    central_monte_carlo_test   counts with a curator's noise, for comparison at the same epsilon
    paper_chi_square           the textbook test on a noisy table; says of itself that it is not valid

A `Hypothesis` is mutual independence, or independence given other attributes. The answer is a `Verdict`.
Claim page: docs/claims/independence.md.
"""

from __future__ import annotations

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence_compared import central_monte_carlo_test, paper_chi_square
from tacita.collect.analysis.independence_simulated import monte_carlo_test
from tacita.collect.analysis.independence_wald import wald_test

__all__ = ["Hypothesis", "Verdict", "central_monte_carlo_test", "monte_carlo_test", "paper_chi_square", "wald_test"]
