"""A trained generator as a model: numbers in, shares of every attribute's codes out, rows drawn from those.

    row:  latent z ~ N(0, I), perhaps a code of one attribute from a released table; layers; softmax over each
          attribute's codes; one code of each attribute

It runs without torch, so reading a model needs no extra.

Privacy: post-processing of what trained it.   Claim: docs/claims/dp-sgd.md
Utility: given z, attributes are independent, so a table over some attributes is a mean of products over many z: less
error than counting drawn rows.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain, code_dtype
from tacita.errors import InvalidInput
from tacita.models._draw import draw_codes
from tacita.models.mixture import Mixture
from tacita.synthesize.gan.encode import Encoding
from tacita.tables.cells import Cells

__all__ = ["Generator"]

Array = NDArray[np.float32]

SLOPE = 0.2
"""Of the leaky rectifier below 0."""

_PROJECTED = 1 << 14
_CHUNK = 1 << 13
_SEED = 20_240_607  # public: a table is the same each time


@dataclass(frozen=True, kw_only=True, eq=False)
class Generator:
    """Layers of a generator.

    Args:
        domain: The attributes.
        layers: Weights (outputs, inputs) and offsets of each layer, the first one first.
        latent: Number of latent variables of a row.
        given: The attribute whose code is drawn first, and the shares it is drawn by; None if all are made.
    """

    domain: Domain = field(repr=False)
    layers: tuple[tuple[Array, Array], ...] = field(repr=False)
    latent: int
    given: tuple[str, NDArray[np.float64]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.domain.check_countable(self.domain.names)
        inputs = self.latent + (self.domain[self.given[0]].size if self.given else 0)
        for weights, offsets in self.layers:
            if weights.shape != (offsets.size, inputs) or not (
                np.isfinite(weights).all() and np.isfinite(offsets).all()
            ):
                raise InvalidInput("must be finite, and fit the layer before", field="layers", value=weights.shape)
            inputs = offsets.size
        if inputs != sum(self.domain.shape):
            raise InvalidInput("the last must have one output for each code", field="layers", value=inputs)

    @cached_property
    def _encoding(self) -> Encoding:
        return Encoding(domain=self.domain)

    def shares(self, latent: Array, codes: NDArray[np.int64] | None) -> dict[str, NDArray[np.float64]]:
        """For each start, the shares of every attribute's codes."""
        flow = latent
        if self.given:
            assert codes is not None
            flow = np.concatenate([latent, np.eye(self.given[1].size, dtype=np.float32)[codes]], axis=1)
        for at, (weights, offsets) in enumerate(self.layers):
            flow = flow @ weights.T + offsets
            if at < len(self.layers) - 1:
                flow = np.where(flow > 0, flow, SLOPE * flow)
        found = {}
        for name, block in self._encoding.blocks.items():
            part = np.exp((flow[:, block] - flow[:, block].max(axis=1, keepdims=True)).astype(float))
            found[name] = part / part.sum(axis=1, keepdims=True)
        if self.given:
            found[self.given[0]] = np.eye(self.given[1].size)[codes]
        return found

    def _starts(self, rows: int, rng: np.random.Generator) -> Iterator[tuple[Array, NDArray[np.int64] | None]]:
        for start in range(0, rows, _CHUNK):
            count = min(_CHUNK, rows - start)
            codes = rng.choice(self.given[1].size, count, p=self.given[1]) if self.given else None
            yield rng.standard_normal((count, self.latent), np.float32), codes

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw codes of synthetic rows."""
        columns = {name: np.empty(rows, code_dtype(self.domain[name].size)) for name in self.domain.names}
        done = 0
        for latent, codes in self._starts(rows, rng):
            every = np.arange(len(latent))
            for name, shares in self.shares(latent, codes).items():
                drawn = columns[name][done : done + len(latent)]
                draw_codes(every, np.cumsum(shares, axis=1), rng.random(len(latent)), drawn)
            done += len(latent)
        return columns

    # -- Projectable ----------------------------------------------------------------------------------------------

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return set(attributes) <= set(self.domain.names)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes, averaged over a fixed draw of starts."""
        return self._as_mixture.project(attributes)

    @cached_property
    def _as_mixture(self) -> Mixture:
        """Given its start a row is a product, so a fixed draw of starts is a mixture of products."""
        parts = [self.shares(*start) for start in self._starts(_PROJECTED, np.random.default_rng(_SEED))]
        tables = {name: np.concatenate([part[name] for part in parts]) for name in self.domain.names}
        return Mixture(domain=self.domain, weights=np.full(_PROJECTED, 1 / _PROJECTED), tables=tables)

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data; weights as base64 of little-endian single-precision floats."""
        return {
            "tacita": "generator/1",
            "domain": self.domain.as_dict(),
            "latent": self.latent,
            "given": {"attribute": self.given[0], "shares": self.given[1].tolist()} if self.given else None,
            "layers": [
                {"shape": list(weights.shape), "weights": _text(weights), "offsets": _text(offsets)}
                for weights, offsets in self.layers
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Generator:
        """The generator that `as_dict` wrote."""
        if data.get("tacita") != "generator/1":
            raise InvalidInput("must be `generator/1`", field="tacita", value=data.get("tacita"))
        given = data["given"]
        return cls(
            domain=Domain.from_dict(data["domain"]),
            latent=data["latent"],
            given=(given["attribute"], np.array(given["shares"], float)) if given else None,
            layers=tuple(
                (_numbers(layer["weights"]).reshape(layer["shape"]), _numbers(layer["offsets"]))
                for layer in data["layers"]
            ),
        )


def _text(numbers: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def _numbers(text: str) -> Array:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
