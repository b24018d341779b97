"""Sufficient statistics with Gaussian noise: the moments of `moments`, solved as those of the functional mechanism.

Privacy:  epsilon at a delta, or rho. Under add-remove with a delta, the noise is a rounded Gaussian and its cost is the
          exact trade-off of the Gaussian mechanism ("analytic"); otherwise exact discrete Gaussian noise by rho.
          Claim: docs/claims/private-regression.md
Utility:  noise on a product is about (B+1) / sqrt(2) Gaussian multipliers, against (B+1)^2 / epsilon for Laplace noise.
"""

from __future__ import annotations

from tacita.learn.regression.methods.functional import FromMoments
from tacita.learn.regression.problem import Problem

__all__ = ["sufficient"]


def sufficient(setting: Problem) -> FromMoments:
    """The same as the functional mechanism, with Gaussian noise."""
    return FromMoments.plan(setting, "gaussian")
