"""Private keys: which values of a column may be named, where the set of values is not public.

Each key that some unit has is released with a probability that depends on how many units have it:

    p(0) = 0,   p(n) = min( e^eps p(n-1) + delta,   1 - e^-eps (1 - p(n-1) - delta),   1 )

the largest probabilities of any (eps, delta)-DP choice whose empty keys stay unnamed: the truncated geometric
mechanism [Desfontaines, Voss, Gipson, Mandayam 2022: Differentially private partition selection].

Privacy:  one key whose number of units moves by at most one is (eps, delta)-DP. A unit in at most m keys composes m of
          them, and 2 m if it is replaced. Probabilities are integers over 2^128, rounded down in both bounds, and e^eps
          is a ratio below it: what is drawn is what is claimed.   Claim: docs/claims/sql.md
Utility:  a key of n units is kept with probability p(n): half at ln(1 + (e^eps - 1) / (2 delta)) / eps units.
Cost:     one draw of 128 bits for each key that occurs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacita import check
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.privacy.event import Approximate, Event, Repeated
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["KeySelection"]

_BITS = 128
_WHOLE = 1 << _BITS
_LONGEST = 1 << 20
_BELOW = Fraction(1, 1 << 40)


@dataclass(frozen=True, kw_only=True)
class KeySelection:
    """The truncated geometric mechanism for one key.

    >>> KeySelection(epsilon=1.0, delta=1e-5).at_least(0.5)
    12
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check.positive(self.epsilon, "epsilon")
        check.inside(self.delta, "delta", 0, 1)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Probabilities times 2^128 for 0, 1, 2, .. units, until they reach 1 or stay the same."""
        # math.exp is right to an ulp; a ratio below it keeps the claim
        grown = Fraction(math.exp(min(self.epsilon, 700.0))) * (1 - _BELOW)
        top, bottom = grown.numerator, grown.denominator
        step = int(Fraction(self.delta) * _WHOLE)
        found = [0]
        while found[-1] < _WHOLE:
            last = found[-1]
            up = last * top // bottom + step
            left = max(_WHOLE - last - step, 0)
            down = _WHOLE - -(-left * bottom // top)
            found.append(min(up, down, _WHOLE))
            if len(found) > _LONGEST:
                raise InvalidInput("is too small for a choice of keys", field="epsilon", value=self.epsilon)
        return tuple(found)

    def probability(self, units: int) -> Fraction:
        """Exact probability that a key of so many units is released."""
        return Fraction(self.thresholds[min(units, len(self.thresholds) - 1)], _WHOLE)

    def at_least(self, probability: float) -> int:
        """Least number of units with which a key is released with this probability."""
        return next(n for n in range(len(self.thresholds)) if self.probability(n) >= probability)

    def event(self, unit: Unit, neighbours: Neighbours) -> Event:
        """Cost to a unit that is in at most `max_rows` keys."""
        once = Approximate(epsilon=self.epsilon, delta=self.delta)
        keys = unit.max_rows * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        return once if keys == 1 else Repeated(event=once, count=keys)

    def choose(self, units: Sequence[int], source: Source) -> list[bool]:
        """Decide for each key, given how many units have it."""
        words = source.words(2 * len(units)).tolist()
        last = len(self.thresholds) - 1
        pairs = zip(units, words[::2], words[1::2], strict=True)
        return [(high << 64 | low) < self.thresholds[min(int(n), last)] for n, high, low in pairs]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"epsilon": self.epsilon, "delta": self.delta, "half_at": self.at_least(0.5)}
