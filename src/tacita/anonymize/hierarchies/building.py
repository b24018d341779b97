"""Build a hierarchy of one attribute from its schema alone.

    kind        for                       options
    intervals   numbers                   widths of the levels; proposed as round numbers if not given
    dates       dates                     by: month, quarter, year, decade
    digits      texts, whole numbers      mask: characters that each level hides, from the right; 1, 2, ...
    prefixes    texts                     keep: characters that each level shows, from the left
    order       ordinal levels            merge: neighbours that become one on each level; 2
    codes       levels with a code list   codes: the list; labels: whether groups show their labels

Proposed widths are 1, 2 or 5 times a power of ten, each a multiple of the one before; the narrowest is the largest one
that cuts the range between the bounds into at least 20 intervals, and at least 2 for whole numbers.

Privacy: reads the schema and what a person gives, never rows: the hierarchy is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from tacita import check
from tacita.anonymize.hierarchies.declared import declared_axis
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.reading import CodeList
from tacita.anonymize.hierarchies.rules import Digits, Intervals, Merged, Period, Periods, Prefixes, Rule
from tacita.domain import Attribute, Date, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput

__all__ = ["KINDS", "HierarchyKind", "HierarchySpec", "build_hierarchy", "propose_widths"]

HierarchyKind = Literal["auto", "intervals", "dates", "digits", "prefixes", "order", "codes"]
KINDS: tuple[str, ...] = get_args(HierarchyKind)
_OPTIONS = {
    "intervals": ("widths", "origin"),
    "dates": ("by",),
    "digits": ("mask",),
    "prefixes": ("keep",),
    "order": ("merge",),
    "codes": ("codes", "labels"),
}
_LEAST_INTERVALS, _MOST_MASKED = 20, 20


@dataclass(frozen=True, kw_only=True)
class HierarchySpec:
    """Declaration of the hierarchy of an attribute.

    Args:
        attribute: The attribute.
        kind: How values are grouped; `auto` takes codes where a code list is given, intervals for numbers, dates for
            dates, order for ordinal levels, and digits for other texts.
        widths, origin: Of intervals.
        by: Of dates.
        mask: Of digits.
        keep: Of prefixes.
        merge: Of an order.
        codes, labels: Of a code list.
    """

    attribute: str
    kind: HierarchyKind = "auto"
    widths: tuple[float, ...] | None = None
    origin: float | None = None
    by: tuple[Period, ...] | None = None
    mask: tuple[int, ...] | None = None
    keep: tuple[int, ...] | None = None
    merge: int | None = None
    codes: CodeList | None = None
    labels: bool = False

    def __post_init__(self) -> None:
        check.one_of(self.kind, "kind", KINDS)

    def kind_of(self, attribute: Attribute) -> str:
        """The kind, chosen by the attribute's if it is `auto`."""
        if self.kind != "auto":
            return self.kind
        if self.codes is not None:
            return "codes"
        if self.keep is not None:
            return "prefixes"
        if isinstance(attribute, Numeric):
            return "digits" if self.mask is not None else "intervals"
        return "dates" if isinstance(attribute, Date) else "order" if isinstance(attribute, Ordinal) else "digits"

    def rule(self, domain: Domain) -> Rule | None:
        """The rule, which names no value; None for a code list, which has none."""
        attribute = domain[self.attribute]
        kind = self.kind_of(attribute)
        self._check_options(kind)
        if kind == "intervals":
            if not isinstance(attribute, Numeric):
                raise _wrong(attribute, "intervals are for numbers")
            widths = self.widths or propose_widths(*attribute.bounds, whole=attribute.integer)
            return Intervals(widths=widths, origin=self.origin or 0)
        if kind == "dates":
            if not isinstance(attribute, Date):
                raise _wrong(attribute, "dates are for dates")
            return Periods(by=self.by or ("month", "quarter", "year", "decade"))
        if kind == "order":
            if not isinstance(attribute, Ordinal):
                raise _wrong(attribute, "an order is for ordinal levels")
            return Merged(levels=attribute.levels, merge=self.merge or 2)
        if kind == "prefixes":
            if self.keep is None:
                raise InvalidInput(
                    "must be given: characters that each level shows", field="keep", hint="keep=(3, 2, 1)"
                )
            return Prefixes(keep=self.keep)
        return Digits(mask=self.mask or _masks(attribute)) if kind == "digits" else None

    def _check_options(self, kind: str) -> None:
        for name in ("widths", "origin", "by", "mask", "keep", "merge", "codes", "labels"):
            if getattr(self, name) not in (None, False) and name not in _OPTIONS[kind]:
                raise InvalidInput(f"is no option of {kind}", field=name, hint="It takes " + ", ".join(_OPTIONS[kind]))


def build_hierarchy(domain: Domain, spec: HierarchySpec) -> Hierarchy:
    """The hierarchy of all values that the schema declares.

    >>> from tacita.domain import Ordinal
    >>> school = Domain(attributes=[Ordinal(name="school", levels=["none", "primary", "secondary", "degree"])])
    >>> build_hierarchy(school, HierarchySpec(attribute="school")).paths[0]
    ('*', 'none..primary', 'none')
    """
    domain.project([spec.attribute]).require_public()
    attribute = domain[spec.attribute]
    rule = spec.rule(domain)
    if rule is not None:
        return rule.hierarchy(declared_axis(attribute))
    if spec.codes is None:
        raise InvalidInput("must be given: the code list", field="codes")
    levels = getattr(attribute, "levels", None)
    if levels is None:
        raise _wrong(attribute, "codes are for declared levels")
    made = spec.codes.hierarchy(levels, labelled=spec.labels)
    return Hierarchy(name=attribute.name, paths=made.paths)


def propose_widths(low: float, high: float, *, whole: bool) -> tuple[float, ...]:
    """Round widths, each a multiple of the one before, up to the range.

    >>> propose_widths(0, 120, whole=True)
    (5.0, 10.0, 20.0, 100.0)
    """
    span = high - low + whole
    power = 10.0 ** math.floor(math.log10(span / _LEAST_INTERVALS))
    first = max(step * power for step in (1, 2, 5) if step * power <= span / _LEAST_INTERVALS)
    first = max(first, 2.0) if whole else first
    widths = [first]
    while True:
        mantissa = round(widths[-1] / 10.0 ** math.floor(math.log10(widths[-1]) + 1e-9))
        wider = widths[-1] * (5 if mantissa == 2 else 2)
        if wider >= span:
            return tuple(_exact(width) for width in widths)
        widths.append(wider)


def _exact(width: float) -> float:
    """The same with the rounding of products removed."""
    return float(f"{width:.12g}")


def _masks(attribute: Attribute) -> tuple[int, ...]:
    """One more character on each level, as long as the longest value shows one."""
    if isinstance(attribute, Numeric):
        longest = max(len(str(int(end))) for end in attribute.bounds)
    else:
        levels: tuple[str, ...] | None = getattr(attribute, "levels", None)
        if levels is None:
            raise InvalidInput("must be given: no levels are declared", field="mask", hint="mask=(1, 2, 3)")
        longest = max(len(level) for level in levels)
    if longest > _MOST_MASKED:
        raise InvalidInput("must be given: values are long", field="mask", hint="mask=(2, 4, 8)")
    return tuple(range(1, max(longest, 2)))


def _wrong(attribute: Attribute, rule: str) -> InvalidInput:
    return InvalidInput(rule, field=attribute.name, value=attribute.kind)
