"""A Wasserstein generator: single attributes from released tables, everything else from a private critic.

Privacy, utility, cost: see `adversarial`. All dependence must come through the noise of the critic's steps, so this
needs many rows or a large epsilon; `ConditionalGan` is better nearly always.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

from dataclasses import dataclass

from tacita.synthesize.gan.adversarial import Adversarial

__all__ = ["Wgan"]


@dataclass(frozen=True, kw_only=True)
class Wgan(Adversarial):
    """See `Adversarial`; most of the budget goes to the critic."""

    tables: float = 0.2
    steps: int = 300
    rate: float = 0.03
    matching: int = 200
    follow: int = 2
    trust: float = 10.0
    hidden: int = 128
    critic: int = 64
    starts: int = 512

    method = "wgan"
