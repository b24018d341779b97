"""Numbers over a domain, addressed by attribute name: the algebra that exact tables and released estimates share.

Dense cells are an array with one axis for each attribute; sparse cells are the codes of some cells and their values,
all others being zero. Both have the same operations with the same results; the choice depends on size alone. Binary
operations join the two sides by name, as in a database, and broadcast over attributes that only one side has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["MAX_DENSE", "Cells", "Projectable"]

Array = npt.NDArray[Any]
Number = int | float
Operator = Callable[[Any, Any], Any]

MAX_DENSE = 1 << 27
"""Most cells that are held one by one (1 GiB of counts)."""


@runtime_checkable
class Projectable(Protocol):
    """Anything with a table over given attributes: data, tables, a release, a model."""

    @property
    def domain(self) -> Domain:
        """The attributes."""

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether `project` would answer."""

    def project(self, attributes: Iterable[str]) -> Any:
        """The numbers over these attributes, in this order."""


class Cells:
    """One number for each cell of a domain.

    >>> from tacita.domain import Boolean
    >>> domain = Domain(attributes=[Boolean(name="a"), Boolean(name="b")])
    >>> cells = Cells(domain, np.array([[1, 2], [3, 4]]))
    >>> cells.project(["b"]).values
    array([4, 6])
    >>> (cells / cells.project(["a"])).values.round(2)
    array([[0.33, 0.67],
           [0.43, 0.57]])
    """

    __slots__ = ("_codes", "_values", "domain")

    domain: Domain
    _values: Array  # dense: of the domain's shape; sparse: one for each row of `_codes`
    _codes: Array | None

    def __init__(self, domain: Domain, values: npt.ArrayLike, codes: npt.ArrayLike | None = None) -> None:
        domain.check_countable(domain.names)
        array = np.array(values)
        if codes is None:
            if array.shape != domain.shape:
                raise InvalidInput(f"must have the domain's shape {domain.shape}", field="values", value=array.shape)
            rows = None
        else:
            rows, array = _canonical(domain, np.asarray(codes), array)
            rows.setflags(write=False)
        array.setflags(write=False)
        for slot, value in (("domain", domain), ("_values", array), ("_codes", rows)):
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled for a process that computes; a `Table` of exact counts refuses it."""
        return type(self), (self.domain, self._values, self._codes)

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the axes, in order."""
        return self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes along each axis."""
        return self.domain.shape

    @property
    def is_sparse(self) -> bool:
        """Whether only some cells are held."""
        return self._codes is not None

    @property
    def values(self) -> Array:
        """All cells as an array with one axis for each attribute."""
        return self.dense()._values

    def nonzero(self) -> tuple[Array, Array]:
        """Codes (one row for each cell) and values of the cells that are not zero, in order."""
        if self._codes is not None:
            keep = self._values != 0
            return self._codes[keep], self._values[keep]
        filled = self._values != 0
        return np.argwhere(filled), self._values[filled]

    def sum(self) -> Any:
        """The total over all cells."""
        return self._values.sum()

    # -- changing form --------------------------------------------------------------------------------------------

    def dense(self) -> Self:
        """The same cells, held one by one."""
        if self._codes is None:
            return self
        if self.domain.size > MAX_DENSE:
            raise InvalidInput(
                f"a table of more than {MAX_DENSE} cells cannot be held cell by cell",
                field="attributes",
                value=list(self.attributes),
                hint="Ask for fewer attributes or coarser bins, or stay sparse",
            )
        full = np.zeros(self.shape, self._values.dtype)
        full[tuple(self._codes.T)] = self._values if self.shape else self._values.sum()
        return type(self)(self.domain, full)

    def sparse(self) -> Self:
        """The same cells, zeros left out."""
        codes, values = self.nonzero()
        return type(self)(self.domain, values, codes)

    # -- reshaping ------------------------------------------------------------------------------------------------

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return set(attributes) <= set(self.attributes)

    def project(self, attributes: Iterable[str]) -> Self:
        """Sum out all but these attributes and put them in this order."""
        domain = self.domain.project(attributes)
        axes = [self.attributes.index(name) for name in domain.names]
        if self._codes is not None:
            return type(self)(domain, self._values, self._codes[:, axes])
        kept = sorted(axes)
        summed = self._values.sum(axis=tuple(axis for axis in range(len(self.shape)) if axis not in kept))
        return type(self)(domain, summed.transpose([kept.index(axis) for axis in axes]))

    def expand(self, domain: Domain) -> Self:
        """Repeat the cells along the attributes that only `domain` has, in its order."""
        missing = [name for name in self.attributes if name not in domain]
        if missing:
            raise InvalidInput("the wider domain must have it", field=missing[0])
        here = [name for name in domain.names if name in self.attributes]
        ordered = self.project(here).values
        shape = [domain[name].size if name in self.attributes else 1 for name in domain.names]
        return type(self)(domain, np.broadcast_to(ordered.reshape(shape), domain.shape))

    # -- element-wise ---------------------------------------------------------------------------------------------

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Apply a function to all values; a sparse table needs one that keeps zero."""
        if self._codes is not None and function(np.zeros(1, self._values.dtype))[0] != 0:
            return self.dense().map(function)
        return type(self)(self.domain, function(self._values), self._codes)

    def __add__(self, other: Cells | Number) -> Cells:
        return self._combine(other, np.add)

    def __sub__(self, other: Cells | Number) -> Cells:
        return self._combine(other, np.subtract)

    def __mul__(self, other: Cells | Number) -> Cells:
        return self._combine(other, np.multiply)

    def __truediv__(self, other: Cells | Number) -> Cells:
        return self._combine(other, _ratio)

    def __radd__(self, other: Number) -> Cells:
        return self + other

    def __rmul__(self, other: Number) -> Cells:
        return self * other

    def __rsub__(self, other: Number) -> Cells:
        return self * -1 + other

    def normalize(self) -> Cells:
        """The cells as shares of their total."""
        return self / float(self.sum())

    def _combine(self, other: Cells | Number, operator: Operator) -> Cells:
        if not isinstance(other, Cells):
            return self.map(lambda values: np.asarray(operator(values, other)))
        kind = _kinder(type(self), type(other))
        scales = operator is np.multiply or operator is _ratio
        if self._codes is not None and scales and self.supports(other.attributes):
            self.domain.merge(other.domain)
            return kind(self.domain, operator(self._values, other._at(self._codes, self.attributes)), self._codes)
        if self._codes is not None and other._codes is not None and set(self.attributes) == set(other.attributes):
            self.domain.merge(other.domain)
            again = other.project(self.attributes)
            assert again._codes is not None
            second = operator(np.zeros_like(again._values), again._values)
            return kind(
                self.domain,
                np.concatenate([self._values, second]),
                np.concatenate([self._codes, again._codes]),
            )
        domain = self.domain.merge(other.domain)
        left, right = self.expand(domain), other.expand(domain)
        return kind(domain, operator(left._values, right._values))

    def _at(self, codes: Array, attributes: tuple[str, ...]) -> Array:
        """Values at given codes of a wider set of attributes."""
        axes = [attributes.index(name) for name in self.attributes]
        return np.asarray(self.values[tuple(codes[:, axes].T)])

    # -- comparing and showing ------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        if self.domain != other.domain:
            return False
        mine, theirs = self.nonzero(), other.nonzero()
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {size}" for name, size in zip(self.attributes, self.shape, strict=True))
        return f"{type(self).__name__}({sizes}{'; sparse' if self.is_sparse else ''})"


def _ratio(top: Array, bottom: Array) -> Array:
    """Divide, with x / 0 = 0, as conditional tables need."""
    return np.divide(
        top,
        bottom,
        out=np.zeros(np.broadcast_shapes(np.shape(top), np.shape(bottom))),
        where=np.asarray(bottom) != 0,
    )


def _kinder(left: type[Cells], right: type[Cells]) -> type[Cells]:
    """Return the more sensitive of two types: a result that uses exact counts stays sensitive."""
    return left if issubclass(left, right) else right


def _canonical(domain: Domain, codes: Array, values: Array) -> tuple[Array, Array]:
    """Sparse cells in lexicographic order, each once."""
    width = len(domain)
    if codes.ndim != 2 or codes.shape[1] != width or values.shape != codes.shape[:1]:
        raise InvalidInput(f"must be one row of {width} codes for each value", field="codes", value=codes.shape)
    if len(codes) and ((codes < 0).any() or (codes.max(axis=0) >= np.array(domain.shape)).any()):
        raise InvalidInput("codes must lie inside the domain", field="codes")
    codes = codes.astype(np.uint32)
    if math.prod(domain.shape) < 1 << 62:
        keys = np.zeros(len(codes), np.int64)
        for axis, size in enumerate(domain.shape):
            keys = keys * size + codes[:, axis]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        distinct = codes[first]
    else:
        distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), values.dtype)
    np.add.at(total, inverse.reshape(-1), values)
    return distinct, total
