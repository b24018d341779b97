"""From counted reports to a release: shares with error bars, and the exact loss of those who answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacita.cells import Cells
from tacita.collect.channel import RandomizedResponse
from tacita.collect.protocol import About
from tacita.domain import Domain
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance, Release
from tacita.uncertainty import Binomial, Correlated

__all__ = ["release_of"]


def release_of(
    channel: RandomizedResponse,
    domain: Domain,
    counts: ArrayLike,
    *,
    about: About,
    simulated: bool,
    recipe: Mapping[str, Any],
) -> Release:
    """Unbiased shares of the cells of a domain.

    The unit is one respondent's one report, and any answer may be replaced by any other: that is what local privacy
    promises. Who answers several questions pays for each; the device's ledger adds them up.

    Args:
        channel: The channel that all reports went through, one level for each cell.
        domain: What the levels mean.
        counts: How often each level was sent.
        about: Whether the shares are those of a population or of these very respondents.
        simulated: Whether the reports were drawn from a seed.
        recipe: How they were collected.
    """
    found = channel.estimate(counts, about=about)
    binomial = None
    if about == "population":  # each report is one draw of the population through the channel
        binomial = Binomial(trials=found.respondents, slope=found.slope, offset=np.asarray(found.offset))
    return Release(
        estimate=Cells(domain, np.asarray(found.frequencies).reshape(domain.shape)),
        quantity="share",
        uncertainty=Correlated(covariance=found.uncertainty, binomial=binomial),
        event=Pure(epsilon=channel.epsilon_upper),
        unit=Unit.row(),
        neighbours=Neighbours.REPLACE_ONE,
        trust="local",
        provenance=Provenance(
            recipe=dict(recipe) | {"about": about, "respondents": found.respondents}, simulated=simulated
        ),
    )
