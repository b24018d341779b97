"""The same attributes with other bins: of numbers and dates, between the same public bounds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from tacita.domain.attributes import EPOCH, Attribute, Binned, Date, Numeric
from tacita.domain.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["rebin", "same_columns", "singles"]


def singles(attribute: Binned) -> Binned:
    """Return the attribute with one level for each whole number or day.

    >>> singles(Numeric(name="age", bounds=(0, 9), bins=2, integer=True)).size
    10
    """
    if isinstance(attribute, Date):
        return _date(attribute, by="day")
    if not attribute.integer:
        raise InvalidInput("must be whole numbers or dates to have a level for each", field=attribute.name)
    return _numeric(attribute)


def rebin(domain: Domain, starts: Mapping[str, Sequence[float]]) -> Domain:
    """Return the domain with other bins.

    Args:
        domain: The schema.
        starts: Lower edge of each bin, by attribute: from the lower bound on, all below the upper one; for dates, days
            since 1970-01-01.

    >>> age = Numeric(name="age", bounds=(0, 99), bins=2, integer=True)
    >>> rebin(Domain(attributes=[age]), {"age": (0, 18, 65)})["age"].labels
    ('0..17', '18..64', '65..99')
    """
    made = {name: _with_starts(domain[name], each) for name, each in starts.items()}
    attributes = tuple(made.get(each.name, each) for each in domain.attributes)
    return Domain(**{name: getattr(domain, name) for name in Domain.model_fields} | {"attributes": attributes})


def _with_starts(attribute: Attribute, starts: Sequence[float]) -> Binned:
    if isinstance(attribute, Date):
        days = [EPOCH + dt.timedelta(days=start) for start in starts]
        return _date(attribute, edges=(*days, attribute.bounds[1]))
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a number or a date to have bins", field=attribute.name)
    return _numeric(attribute, edges=(*map(float, starts), attribute.bounds[1]))


def _numeric(attribute: Numeric, **bins: object) -> Numeric:
    kept = {name: getattr(attribute, name) for name in Numeric.model_fields if name not in ("edges", "bins")}
    return Numeric(**kept, **bins)


def _date(attribute: Date, **bins: object) -> Date:
    kept = {name: getattr(attribute, name) for name in Date.model_fields if name not in ("by", "edges")}
    return Date(**kept, **bins)


def same_columns(one: Domain, other: Domain) -> bool:
    """Return whether two domains describe the same columns, and differ in the bins of numbers and dates at most."""
    return len(one) == len(other) and _without_bins(one) == _without_bins(other)


def _without_bins(domain: Domain) -> Domain:
    numbers = {name: domain[name] for name in domain.names if isinstance(domain[name], Binned)}
    return rebin(domain, {name: each.line_bounds[:1] for name, each in numbers.items()})  # type: ignore[union-attr]
