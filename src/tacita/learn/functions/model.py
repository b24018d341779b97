"""A released function: its public description, and the arrays that answer.

    form        arrays                       contents
    path        centres, weights             exact and secret; a noise path goes with them; only answers are released
    features    weights                      with noise already; may be shown
    table       counts                       with noise already; may be shown

Answers are whole multiples of a power of two, 2^-34 of the noise: a value that is rounded to that grid plus noise that
is rounded to it. So the last bits of an answer reveal nothing about the sum behind it.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Domain
from tacita.errors import Forbidden, InternalError, InvalidInput
from tacita.learn.functions.expansion import Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.histogram import cells_of
from tacita.learn.functions.inputs import Inputs
from tacita.learn.functions.kernel import Array, Kernel
from tacita.learn.functions.predicted_error import warning

__all__ = ["FunctionModel", "Predictions", "on_grid", "step_of"]

MOST_BYTES = 1 << 28
"""Most memory of the arrays of a model."""
_FINE = 34
_COARSER = 14  # what answers of features are rounded to, in doublings of that: other machines add up otherwise
_CHUNK = 1 << 22  # kernel values that are held at once


def step_of(sigma: float) -> float:
    """The grid of answers whose noise has this standard deviation."""
    return 2.0 ** (math.floor(math.log2(sigma)) - _FINE)


def on_grid(exact: Array, noise: Array, step: float) -> Array:
    """Both rounded to the grid, added as whole numbers."""
    value, shift = np.rint(exact / step), np.rint(noise / step)
    if not max(np.max(np.abs(value), initial=0.0), np.max(np.abs(shift), initial=0.0)) < 2.0**62:
        raise InternalError("the value is too large for the grid of its noise", field="model")
    return np.asarray((value.astype(np.int64) + shift.astype(np.int64)).astype(np.float64) * step)


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Answers to a batch of queries, in its order.

    Attributes:
        values: One for each point: a density, a share or a response; for classes, the score of each function.
        labels: The class of each point, where there are classes.
        noise_std: Standard deviation of the noise in a value; None for a table, whose noise is of whole counts.
        warning: That the noise is larger than what it is measured against, where it is.
    """

    values: tuple[float | tuple[float, ...], ...]
    labels: tuple[str, ...] | None
    noise_std: float | None
    warning: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        values = [list(each) if isinstance(each, tuple) else each for each in self.values]
        return {
            "values": values,
            "labels": None if self.labels is None else list(self.labels),
            "noise_std": self.noise_std,
            "warning": self.warning,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionModel:
    """One function, or several that answer together.

    Attributes:
        about: All that is public, as plain data.
        arrays: Arrays that answers are computed from; secret where the form is `path`.
    """

    about: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)

    @property
    def form(self) -> str:
        """`path`, `features` or `table`."""
        return str(self.about["form"])

    @property
    def service_only(self) -> bool:
        """Whether only answers may be released."""
        return self.form == "path"

    @cached_property
    def domain(self) -> Domain:
        """The public schema of queries."""
        return Domain.from_dict(self.about["domain"])

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the inputs of a query."""
        return tuple(self.about["features"])

    @cached_property
    def inputs(self) -> Inputs:
        """Map from queries to points; a table also takes attributes that are no numbers."""
        return Inputs(domain=self.domain, features=self.features)

    @cached_property
    def space(self) -> Space:
        """The space of the function and its noise."""
        kernel = Kernel.from_dict(self.about["kernel"])
        random = self.about["random"]
        features = None if random is None else Features(kernel=kernel, dimensions=self.inputs.dimensions, **random)
        return Space(kernel=kernel, features=features)

    @property
    def functions(self) -> int:
        """Number of functions that answer together."""
        return int(self.about["functions"])

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in units of the kernel."""
        return float(self.about["sigma"])

    @property
    def warning(self) -> str | None:
        """That the noise is larger than what it is measured against, where it is."""
        reference = self.about.get("reference")  # functions from before have none
        if reference is None:
            return None
        return warning(self.about["noise_std"], reference["value"], reference["what"])

    # -- answering ----------------------------------------------------------------------------------------------------

    def exact(self, points: Array) -> Array:
        """The function without noise: secret, only ever added to noise."""
        centres, weights = self.arrays["centres"], self.arrays["weights"]
        if not len(centres):
            return np.zeros((len(points), self.functions))
        each = max(1, _CHUNK // len(centres))
        parts = [self.space.kernel(points[at : at + each], centres) @ weights for at in range(0, len(points), each)]
        return np.concatenate(parts)

    def noisy(self, points: Array, noise: Array) -> Array:
        """Answers of a path, before they are scaled."""
        return on_grid(self.exact(points), noise * self.sigma, step_of(self.sigma))

    def answer(self, queries: Sequence[Sequence[Any]]) -> Predictions:
        """Answers of a form that has its noise already."""
        if self.form == "table":
            counts = self.arrays["counts"].reshape(-1)[cells_of(self.domain, self.features, queries)]
            return self.predictions(counts[:, None].astype(np.float64))
        assert self.space.features is not None
        features, weights = self.space.features, self.arrays["weights"]
        points = self.inputs.at(self.inputs.places(queries))
        # one by one: sums of a matrix are added up in an order that its size decides
        raw = np.concatenate([features(point[None]) @ weights for point in points])
        step = step_of(self.sigma) * 2.0**_COARSER
        return self.predictions(np.rint(raw / step) * step)

    def predictions(self, raw: Array) -> Predictions:
        """Answers in the units of the data."""
        values = raw * float(self.about["scale"]) + float(self.about["offset"])
        labels = None
        if self.about["classes"] is not None:
            best = (raw[:, 0] > 0).astype(np.int64) if self.functions == 1 else np.argmax(raw, axis=1)
            labels = tuple(self.about["classes"][place] for place in best)
        shown = tuple(float(row[0]) if len(row) == 1 else tuple(float(each) for each in row) for row in values)
        return Predictions(values=shown, labels=labels, noise_std=self.about["noise_std"], warning=self.warning)

    def parameters(self) -> dict[str, Any]:
        """The numbers that answer, for those who want to answer themselves.

        Raises:
            Forbidden: The function is a service: its parameters are rows of the data.
        """
        if self.service_only:
            raise Forbidden(
                "only answers of this function may be released: its parameters are private rows",
                field="model",
                hint="Ask for predictions, or release it with random features",
            )
        return {name: array.tolist() for name, array in self.arrays.items()}

    # -- bytes --------------------------------------------------------------------------------------------------------

    def payload(self) -> bytes:
        """The arrays as bytes."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **self.arrays)
        return buffer.getvalue()

    @classmethod
    def of(cls, about: Mapping[str, Any], payload: bytes) -> FunctionModel:
        """The model that `payload` wrote."""
        _check_sizes(payload)
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            return cls(about=about, arrays={name: arrays[name] for name in arrays.files})


def _check_sizes(payload: bytes) -> None:
    """Refuse packed arrays that unpack to more than any model takes, or that say they are larger than they are."""
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > MOST_BYTES:
                raise InvalidInput(f"must unpack to at most {MOST_BYTES} bytes", field="bundle.payload")
            for part in parts:
                with archive.open(part) as file:
                    version = np.lib.format.read_magic(file)
                    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                    shape, _, kind = read[version](file)
                    if math.prod(shape) * kind.itemsize > part.file_size:
                        raise InvalidInput("holds an array that is shorter than it says", field="bundle.payload")
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError):
        raise InvalidInput("holds no arrays", field="bundle.payload") from None
