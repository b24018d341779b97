"""Private bounds: where the range of a number is unknown, part of the budget finds it.

    wide = powers_of_two(domain, "income")                    # the attribute over public bins: 0, 1, 2, 4, 8, ..
    plan = NoisyTables(Workload.of(["income"])).calibrate(wide, budget, unit=unit, neighbours=neighbours)
    low, high = bounds_from(session.ask(plan)["income",])      # read off the release: costs nothing more
    Aggregate(kind="mean", column="income", bounds=(low, high))

Privacy: that of the table of counts; what is read off it is post-processing. The bins are public: powers of two.
Utility: the range holds the wanted share of the rows up to noise; a bin counts as occupied when it stands out of the
noise of all bins together, so that empty bins far out do not widen the range.
Claim page: docs/claims/additive-noise.md.
"""

from __future__ import annotations

import numpy as np

from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.tables.release import Release

__all__ = ["bounds_from", "powers_of_two"]

_POWERS = 40


def powers_of_two(domain: Domain, column: str, *, powers: int = _POWERS) -> Domain:
    """The same domain with one number over bins that double: from -2**powers over 0 to 2**powers.

    Args:
        domain: Public description of the data.
        column: A number; its own bounds are not used.
        powers: The largest size that is looked for, as a power of two.
    """
    attribute = domain[column]
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a number", field=column, value=attribute.kind)
    if not 1 <= powers <= 60:
        raise InvalidInput("must be 1 to 60", field="powers", value=powers)
    sizes = [2.0**power for power in range(powers + 1)]
    edges = (*(-size for size in reversed(sizes)), 0.0, *sizes)
    wide = Numeric(name=column, bounds=(edges[0], edges[-1]), edges=edges, missing=True, other=True)
    attributes = tuple(wide if each.name == column else each for each in domain.attributes)
    return Domain(title=domain.title, person=domain.person, nulls=domain.nulls, attributes=attributes)


def bounds_from(release: Release, *, share: float = 0.99, level: float = 0.95) -> tuple[float, float]:
    """The narrowest range of whole bins that holds the wanted share of the counts above the noise.

    Args:
        release: A noisy table over a number of `powers_of_two`.
        share: Of the rows that must lie inside; the rest will be clipped, evenly at both ends.
        level: With this probability no empty bin is taken for an occupied one.
    """
    (name,) = release.attributes
    attribute = release.domain[name]
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a table over one number", field="release", value=name)
    if not 0 < share <= 1:
        raise InvalidInput("must lie above 0 and not above 1", field="share", value=share)
    edges = [*attribute.starts, attribute.bounds[1]]
    bins = len(edges) - 1
    counts = release.values[:bins].astype(float)
    above, _ = release.interval(1 - 2 * (1 - level) / bins)  # one-sided, for all bins together, by the noise's own law
    held = np.where(above[:bins] > 0, counts, 0.0)
    if not held.any():
        hint = "Spend more on the bounds, or state them"
        raise InvalidInput("no bin stands out of the noise", field="release", hint=hint)
    cumulative = np.cumsum(held) / held.sum()
    spare = (1 - share) / 2
    first = int(np.searchsorted(cumulative, spare, side="right"))
    last = int(np.searchsorted(cumulative, 1 - spare, side="left"))
    return float(edges[first]), float(edges[last + 1])
