"""A recoding: which class each distinct combination of values goes to, and the label of each attribute in each class.

It is made from the data and holds its values, so it belongs to the owner and is never part of a release. It guarantees
nothing by itself: the recoded rows are checked again by the caller (`tacita.anonymize`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import DataError, InvalidInput
from tacita.tables.recoding.axis import Axis

__all__ = ["SUPPRESSED", "Recoding"]

SUPPRESSED = -1
Ints = NDArray[np.int64]
_GOLDEN = 0.6180339887498949  # multiples of it spread evenly over the unit interval
_MOST = 2**62  # numbers of combinations stay below it


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Mapping of rows to equivalence classes.

    Attributes:
        axes: The quasi-identifiers and their values.
        codes: Distinct combinations of codes, one in each row.
        classes: The class of each combination; `SUPPRESSED` for those whose rows are not released.
        labels: For each class and attribute, the index of the released text in `texts`. No two classes are the same.
        texts: The texts of each attribute.
        shares: How many rows of its combination go to this class, where a combination is split over several
            (then it is listed several times); None when each goes to one class as a whole.
    """

    axes: tuple[Axis, ...]
    codes: NDArray[np.int32]
    classes: Ints
    labels: NDArray[np.int32]
    texts: tuple[tuple[str, ...], ...]
    shares: Ints | None = None

    def __post_init__(self) -> None:
        wide = len(self.axes)
        if self.codes.ndim != 2 or self.codes.shape[1] != wide or self.labels.shape[1:] != (wide,):
            raise InvalidInput("needs one code and one label for each attribute", field="codes", value=self.codes.shape)
        if len(self.classes) != len(self.codes) or (len(self.classes) and self.classes.max() >= len(self.labels)):
            raise InvalidInput("must name a class for each combination", field="classes", value=len(self.classes))

    @classmethod
    def of(
        cls,
        axes: Sequence[Axis],
        codes: NDArray[np.int32],
        classes: Ints,
        labels: NDArray[np.int32],
        texts: Sequence[Sequence[str]],
        shares: Ints | None = None,
    ) -> Recoding:
        """A recoding in canonical form: texts sorted, classes with the same labels made one, classes in label order."""
        sorted_texts, columns = [], []
        for column, words in zip(labels.T, texts, strict=True):
            distinct, place = np.unique(np.array(words, object), return_inverse=True)
            sorted_texts.append(tuple(distinct.tolist()))
            columns.append(place[column].astype(np.int32) if len(column) else column)
        table = np.stack(columns, axis=1) if len(labels) else labels
        kept, place = np.unique(table, axis=0, return_inverse=True) if len(table) else (table, np.zeros(0, np.int64))
        moved = np.append(place.reshape(-1), SUPPRESSED)[classes].astype(np.int64)  # the last one answers to -1
        return cls(axes=tuple(axes), codes=codes, classes=moved, labels=kept, texts=tuple(sorted_texts), shares=shares)

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def _strides(self) -> list[int] | None:
        """Stride of each code in the number of a combination; None if there are too many combinations to number."""
        strides, total = [1] * len(self.axes), 1
        for place in range(len(self.axes) - 1, -1, -1):
            strides[place] = total
            total *= max(len(self.axes[place]), 1)
        return strides if total < _MOST else None

    def combinations(self, codes: NDArray[np.int32]) -> Ints:
        """Return the combination of each row of codes: the index of its first occurrence in `codes`."""
        if codes.shape[1:] != (len(self.axes),) or (codes < 0).any() or (len(codes) and not len(self.codes)):
            raise _stranger()
        if self._strides is not None:
            strides = np.array(self._strides, np.int64)
            known, wanted = self.codes @ strides, codes @ strides
            order = np.argsort(known, kind="stable")
            at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
            if not np.array_equal(known[at], wanted):
                raise _stranger()
            return np.asarray(at, np.int64)
        places: dict[bytes, int] = {}
        for place, row in enumerate(self.codes):
            places.setdefault(row.tobytes(), place)
        found = [places.get(row.tobytes(), -1) for row in codes.astype(np.int32)]
        if -1 in found:
            raise _stranger()
        return np.array(found, np.int64)

    def assign(self, codes: NDArray[np.int32], among: Ints | None = None) -> Ints:
        """Return the class of each row of codes.

        Args:
            codes: One row of codes for each row of the data.
            among: Rank of each row by its other released columns; needed when combinations are split over classes, so
                that the class of a row does not depend on the order of the input.
        """
        return self.place(self.combinations(codes), among)

    def place(self, combinations: Ints, among: Ints | None = None) -> Ints:
        """The class of each row, from its combination: see `combinations` and `assign`."""
        if self.shares is None:
            return np.asarray(self.classes[combinations])
        if among is None:
            raise InvalidInput("needs the order of the rows, because equal rows are split over classes", field="among")
        # the rows of a combination are split so that each class gets rows from all along their order
        order = np.lexsort((among, combinations))
        starts = np.flatnonzero(np.diff(combinations[order], prepend=-1))
        lengths = np.diff(np.append(starts, len(order)))
        within = np.arange(len(order)) - np.repeat(starts, lengths)
        order = order[np.lexsort((within * _GOLDEN % 1.0, combinations[order]))]
        firsts = self.combinations(self.codes)
        entries = np.argsort(firsts, kind="stable")
        if not np.array_equal(np.repeat(firsts[entries], self.shares[entries]), combinations[order]):
            raise _stranger()
        classes = np.empty(len(order), np.int64)
        classes[order] = np.repeat(self.classes[entries], self.shares[entries])
        return classes

    def as_dict(self) -> dict[str, Any]:
        """Plain data. It holds values as they are: for the owner of the data."""
        return {
            "tacita": "recoding/1",
            "axes": [axis.as_dict() for axis in self.axes],
            "codes": self.codes.tolist(),
            "classes": self.classes.tolist(),
            "labels": self.labels.tolist(),
            "texts": [list(words) for words in self.texts],
            "shares": None if self.shares is None else self.shares.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recoding:
        """The recoding that `as_dict` wrote."""
        if data.get("tacita") != "recoding/1":
            raise InvalidInput("must be `recoding/1`", field="tacita", value=data.get("tacita"))
        wide = len(data["axes"])
        return cls(
            axes=tuple(Axis.from_dict(axis) for axis in data["axes"]),
            codes=np.array(data["codes"], np.int32).reshape(-1, wide),
            classes=np.array(data["classes"], np.int64),
            labels=np.array(data["labels"], np.int32).reshape(-1, wide),
            texts=tuple(tuple(words) for words in data["texts"]),
            shares=None if data["shares"] is None else np.array(data["shares"], np.int64),
        )


def _stranger() -> DataError:
    return DataError(
        "the rows are not those that the recoding was made for", field="recoding", hint="Make the recoding anew"
    )
