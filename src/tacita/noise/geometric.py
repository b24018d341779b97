"""The truncated geometric mechanism on one bounded integer.  [Ghosh, Roughgarden, Sundararajan 2012]

Privacy: (sensitivity/scale)-DP, pure: clamping the noisy value to public bounds is post-processing. OpenDP's
version runs in near constant time, so that the time taken reveals nothing about the noise.
"""

from __future__ import annotations

from tacita.errors import InvalidInput
from tacita.noise import _opendp
from tacita.noise.laplace import DiscreteLaplace
from tacita.noise.source import Source

__all__ = ["truncated_geometric"]


def truncated_geometric(value: int, *, scale: float, low: int, high: int, source: Source) -> int:
    """The value plus geometric noise, kept within public bounds."""
    if low >= high:
        raise InvalidInput("bounds must rise", field="bounds", value=(low, high))
    if not source.simulated:
        return _opendp.bounded_geometric(value, scale, low, high)
    noisy = min(max(value, low), high) + int(DiscreteLaplace.at_least(scale).draw(1, source)[0])
    return min(max(noisy, low), high)
