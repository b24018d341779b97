"""Privacy budgets, in one of three currencies.

pure       epsilon                  adds up as it is
approx     epsilon at a delta       added up by privacy loss distributions
zcdp       rho                      adds up as it is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tacita.errors import InvalidInput

__all__ = ["Budget", "exact"]


LEAST_EPSILON, MOST_EPSILON = 1e-4, 1000.0
LEAST_RHO, MOST_RHO = 1e-8, 1000.0
LEAST_DELTA, MOST_DELTA = 1e-15, 0.1
"""Below the least, a result is only noise and accountants take minutes; above the most, the guarantee is void."""


_LARGEST = 1e300  # NaN is not below it


def exact(value: float | Fraction) -> Fraction:
    """A float as the decimal that it is written as, so that ten tenths are one; a ratio as it is.

    >>> sum(exact(0.1) for _ in range(10)) == 1
    True
    """
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A privacy budget: epsilon, epsilon at delta, or rho."""

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidInput("give either epsilon or rho", field="budget")
        for name, least, most in (("epsilon", LEAST_EPSILON, MOST_EPSILON), ("rho", LEAST_RHO, MOST_RHO)):
            value = getattr(self, name)
            if value is not None and not _is_positive(value):
                raise InvalidInput("must be positive and finite", field=name, value=_shown(value))
            if value is not None and not least <= value <= most:
                raise InvalidInput(f"must lie between {least:g} and {most:g}", field=name, value=value)
        if not _is_number(self.delta):
            raise InvalidInput("must be a number", field="delta", value=_shown(self.delta))
        if self.delta and not LEAST_DELTA <= self.delta <= MOST_DELTA:
            rule = f"must be 0, or lie between {LEAST_DELTA:g} and {MOST_DELTA:g}"
            raise InvalidInput(rule, field="delta", value=self.delta)
        if self.rho is not None and self.delta:
            raise InvalidInput("a rho budget has no delta", field="delta", value=self.delta)

    @classmethod
    def pure(cls, epsilon: float) -> Budget:
        """Epsilon-DP."""
        return cls(epsilon=epsilon)

    @classmethod
    def approx(cls, epsilon: float, delta: float) -> Budget:
        """(epsilon, delta)-DP."""
        return cls(epsilon=epsilon, delta=delta)

    @classmethod
    def zcdp(cls, rho: float) -> Budget:
        """rho-zCDP."""
        return cls(rho=rho)

    @property
    def currency(self) -> Literal["pure", "approx", "zcdp"]:
        """Currency of the amount."""
        if self.rho is not None:
            return "zcdp"
        return "approx" if self.delta else "pure"

    @property
    def amount(self) -> float:
        """Epsilon or rho."""
        return self.rho if self.rho is not None else self.epsilon  # type: ignore[return-value]

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {self.rho:g}"
        return f"epsilon {self.epsilon:g}" + (f" at delta {self.delta:g}" if self.delta else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        if self.rho is not None:
            return {"rho": self.rho}
        return {"epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """The budget that `as_dict` wrote."""
        unknown = set(data) - {"epsilon", "delta", "rho"}
        if unknown:
            raise InvalidInput("a budget has epsilon and delta, or rho", field="budget", value=sorted(unknown))
        return cls(**data)


def _is_number(value: object) -> bool:
    """Whether it is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST


def _is_positive(value: object) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


def _shown(value: object) -> object:
    """The value for a message; a number of thousands of digits cannot even be written."""
    return value if not isinstance(value, int) or abs(value) <= _LARGEST else "too large"
