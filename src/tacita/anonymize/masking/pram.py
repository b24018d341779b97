"""PRAM, the post-randomisation method [Gouweleeuw et al. 1998]: levels are changed at random by a published matrix.

It is randomized response by the owner of the data, so the channels of `tacita.collect` draw it and estimate from it:

    P(y | x) = keep if y = x, (1 - keep) / (levels - 1) otherwise;   epsilon = ln(keep (levels - 1) / (1 - keep))

Levels are those that the schema declares, its buckets `(other)` and `(missing)` included. A value that the schema has
no level for becomes a uniformly random level; leaving it would reveal it. The matrix is released with the rows, and
`PramMatrix.estimate` gives unbiased shares of the true levels with standard errors.

Invariant PRAM draws by R = P Q, where Q is Bayes' inverse of P for the shares in the data: the expected table is the
true one, so no correction is needed. Its matrix is computed from exact shares and only has the levels that occur.

Privacy: local, pure: epsilon above for this attribute of a row, exact in the integers that are drawn with. It says
nothing about other attributes; k independent attributes add up. Invariant PRAM: none, its matrix reveals exact shares.
Utility: unbiased; standard errors from the channel.
Cost: O(1) a row, O(levels^2) for the matrix.
Claim page: docs/claims/pram.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.masking.columns import NO_VALUE, Column, Columns
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.matrix import MatrixChannel
from tacita.domain import Attribute, Domain
from tacita.errors import InvalidInput
from tacita.noise.source import Source
from tacita.tables.recoding.axis import MISSING

__all__ = ["MOST_LEVELS", "Pram", "PramMatrix", "invariant_matrix", "keep_channel"]

MOST_LEVELS = 500
"""More levels are refused: their matrix would be larger than most tables."""
Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Pram(MaskingMethod):
    """Change levels at random by a published matrix."""

    step: ClassVar[str] = "pram"
    summary: ClassVar[str] = "Change levels at random by a matrix that is released (post-randomisation)."
    main: ClassVar[str] = "keep"
    form: ClassVar[str] = "job=0.8"
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "ordinal", "boolean")
    randomises: ClassVar[bool] = True

    keep: float | None = field(
        default=None, metadata=described("Probability that a level stays; above 1/levels.", gt=0, lt=1)
    )
    epsilon: float | None = field(
        default=None, metadata=described("Local privacy loss of the attribute, instead of keep.", gt=0, le=36)
    )
    invariant: bool = field(
        default=False,
        metadata=described("Keep the expected table of the attribute; the matrix then reveals exact shares."),
    )

    def check(self) -> None:
        """Check the numbers."""
        if (self.keep is None) == (self.epsilon is None):
            raise InvalidInput("give keep or epsilon, and not both", field="pram", hint=f"For example {self.form}")
        if self.keep is not None:
            check.inside(self.keep, "keep", 0, 1)
        if self.epsilon is not None:
            check.positive(self.epsilon, "epsilon")
            check.inside(self.epsilon, "epsilon", 0, 36.5)
        if not isinstance(self.invariant, bool):
            raise InvalidInput("must be true or false", field="invariant", value=self.invariant)

    def resolve(self, domain: Domain) -> Pram:
        """Check that every attribute has levels to change to, and a matrix that keeps something."""
        super().resolve(domain)
        for name in self.attributes:
            self.channel(domain[name])
        return self

    def channel(self, attribute: Attribute) -> RandomizedResponse:
        """The channel of an attribute; depends on the schema alone."""
        levels = len(attribute.all_labels)
        if not 2 <= levels <= MOST_LEVELS:
            rule = f"must have 2 to {MOST_LEVELS} levels, its buckets included"
            raise InvalidInput(rule, field=attribute.name, value=levels)
        return self._channel(levels, attribute.name)

    def _channel(self, levels: int, name: str) -> RandomizedResponse:
        if self.epsilon is not None:
            return RandomizedResponse.k_ary(levels=levels, epsilon=float(self.epsilon))
        assert self.keep is not None
        return keep_channel(levels, self.keep, name)

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Draw a level for each cell."""
        changed, published, notes = [], {}, []
        for name in self.attributes:
            column = columns[name]
            if self.invariant:
                made = self._invariant(column)
                if made is None:
                    notes.append(f"{name} has one level only and is unchanged.")
                    continue
                notes.append(f"The matrix of {name} was computed from the exact shares of its levels.")
            else:
                channel = self._channel(len(column.declared), name)
                made = PramMatrix(name=name, labels=column.declared, channel=channel)
            codes, reports = made.encode(column), np.empty(columns.rows, np.int64)
            known = codes >= 0
            reports[known] = made.channel.randomize(codes[known], source)
            fair = RandomizedResponse(keep=0, fake=(1,) * len(made.labels))
            reports[~known] = fair.randomize(np.zeros(int((~known).sum()), np.int64), source)
            column = made.decode(column, reports)
            changed.append(column)
            published[name] = made.counted(np.bincount(reports, minlength=len(made.labels)))
        return Effect(columns=columns.replaced(changed), notes=tuple(notes), published=published)

    def _invariant(self, column: Column) -> PramMatrix | None:
        labels = np.array([*column.labels, MISSING])
        codes = np.where(column.values == NO_VALUE, len(column.labels), column.values).astype(np.int64)
        counts = np.bincount(codes, minlength=len(labels))
        there = np.flatnonzero(counts)
        if len(there) < 2:
            return None
        channel = invariant_matrix(self._channel(len(there), column.name).matrix(), counts[there])
        return PramMatrix(name=column.name, labels=tuple(labels[there].tolist()), channel=channel, exact=True)


def keep_channel(levels: int, keep: float, name: str = "keep") -> RandomizedResponse:
    """Uniform randomized response whose matrix has `keep` on its diagonal, exactly as a decimal fraction.

    >>> keep_channel(4, 0.7).weights().tolist()[0], keep_channel(4, 0.7).total
    ([21, 3, 3, 3], 30)
    """
    share = Fraction(repr(float(keep))).limit_denominator(10**9)
    fake = share.denominator - share.numerator
    weight = share.numerator * (levels - 1) - fake
    if weight <= 0:
        rule = f"must be above 1/{levels}, else the result does not depend on the data"
        raise InvalidInput(rule, field=f"pram: {name}", value=keep)
    return RandomizedResponse(keep=weight, fake=(fake,) * levels)


def invariant_matrix(matrix: NDArray[np.float64], counts: NDArray[np.int64]) -> MatrixChannel:
    """R = P Q with Q(y, x) = P(x, y) t(x) / sum of P(., y) t: the shares t stay as they are, t R = t."""
    joint = matrix * (counts / counts.sum())[:, None]
    back = (joint / joint.sum(axis=0)).T
    rows = []
    for x, row in enumerate(matrix @ back):
        exact = [Fraction(float(share)) for share in row]
        exact[x] += 1 - sum(exact)
        rows.append(exact)
    return MatrixChannel.from_probabilities(rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class PramMatrix:
    """The matrix of one attribute, as it is released: P(released level | true level).

    Attributes:
        name: The attribute.
        labels: Its levels, in the order of rows and columns.
        channel: The channel that drew.
        exact: Whether it was computed from exact shares (invariant PRAM).
        counts: Released rows of each level.
    """

    name: str
    labels: tuple[str, ...]
    channel: RandomizedResponse | MatrixChannel = field(repr=False)
    exact: bool = False
    counts: tuple[int, ...] = ()

    @property
    def epsilon(self) -> float | None:
        """Local privacy loss of the attribute; None for a matrix that was computed from the data."""
        return None if self.exact else self.channel.epsilon_upper

    def counted(self, counts: NDArray[np.int64]) -> PramMatrix:
        """The same matrix with the released counts."""
        return replace(self, counts=tuple(int(count) for count in counts))

    def encode(self, column: Column) -> Codes:
        """The level of each cell of a column; -1 for one that has none."""
        place = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([place.get(label, -1) for label in (*column.labels, MISSING)], np.int64)
        return codes[np.where(column.values == NO_VALUE, len(column.labels), column.values).astype(np.int64)]

    def decode(self, column: Column, reports: Codes) -> Column:
        """A column of drawn levels."""
        place = {label: code for code, label in enumerate(column.labels)} | {MISSING: NO_VALUE}
        codes = np.array([place[label] for label in self.labels], np.int64)
        return column.with_values(codes[reports])

    def estimate(self, column: pa.Array | pa.ChunkedArray | None = None) -> FrequencyEstimate:
        """Unbiased shares of the true levels of these very rows, with their covariance.

        Args:
            column: Released values of the attribute, null for `(missing)`; all released rows by default.
        """
        return self.channel.estimate(self._counts(column), about="respondents")

    def _counts(self, column: pa.Array | pa.ChunkedArray | None) -> NDArray[np.int64]:
        if column is None:
            return np.array(self.counts, np.int64)
        place = {label: code for code, label in enumerate(self.labels)}
        counts = np.zeros(len(self.labels), np.int64)
        for text in column.to_pylist():
            label = MISSING if text is None else str(text)
            if label not in place:
                raise InvalidInput("has a value that the matrix does not have", field=self.name)
            counts[place[label]] += 1
        return counts

    def as_dict(self) -> dict[str, Any]:
        """Plain data: levels, integer weights, loss, and the estimated shares with standard errors."""
        found: dict[str, Any] = {
            "attribute": self.name,
            "labels": list(self.labels),
            "total": self.channel.total,
            "weights": self.channel.weights().tolist(),
            "exact": self.exact,
            "epsilon": self.epsilon,
        }
        if sum(self.counts):
            estimate = self.estimate()
            found["released"] = list(self.counts)
            found["shares"] = [float(share) for share in estimate.frequencies]
            found["errors"] = [float(error) for error in estimate.std()]
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The matrix that `as_dict` wrote."""
        channel = MatrixChannel(table=tuple(tuple(int(weight) for weight in row) for row in data["weights"]))
        counts = tuple(int(count) for count in data.get("released", ()))
        return cls(
            name=data["attribute"],
            labels=tuple(data["labels"]),
            channel=channel,
            exact=bool(data["exact"]),
            counts=counts,
        )
