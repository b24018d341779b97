"""The generator while it learns: from released tables, and from a judge of its rows.

Privacy: it has no way to data: it gets targets that were released, and a judge whose weights are private already.
Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacita.models.measurement import Measurement, singles_of
from tacita.models.neural.backend import load_torch, pick_device
from tacita.models.neural.training import check_finite
from tacita.noise import Source
from tacita.synthesize.gan.encode import Encoding
from tacita.synthesize.gan.generator import Generator
from tacita.synthesize.gan.matching import Matching
from tacita.synthesize.gan.networks import as_generator, drawn_rows, layers, shares_of_codes
from tacita.synthesize.plan import generator

__all__ = ["Maker"]

_LEAST_PACE = 0.02


class Maker:
    """A network that makes rows.

    Args:
        encoding: Where codes stand.
        targets: Released tables.
        given: Attribute that is drawn first, from its released table.
        latent, hidden: Sizes of layers.
        starts: Rows of one step.
        learning_rate: Of its steps.
        source: For the start and the draws; they need no secrecy.
    """

    def __init__(
        self,
        encoding: Encoding,
        targets: Sequence[Measurement],
        given: str | None,
        *,
        latent: int,
        hidden: int,
        starts: int,
        learning_rate: float,
        source: Source,
    ) -> None:
        self._torch = torch = load_torch()
        self.device, self.encoding = pick_device(torch), encoding
        self._latent, self._count, self._rate = latent, starts, learning_rate
        singles = singles_of(encoding.domain, targets)
        self._given = (given, singles[given]) if given else None
        inputs = latent + (encoding.domain[given].size if given else 0)
        self.rng = generator(source)
        self.network = layers([inputs, hidden, hidden, encoding.width], self.rng).to(self.device)
        with torch.no_grad():  # it begins near the product of single attributes
            logs = np.log(np.concatenate([singles[name] for name in encoding.domain.names]))
            self.network[-1].bias.copy_(torch.from_numpy(logs.astype(np.float32)))
            self.network[-1].weight.mul_(0.5)
        self.seen = torch.from_numpy(encoding.seen).to(self.device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), learning_rate)
        self._matching = Matching(encoding, targets, given, self.device)
        self._random = torch.Generator(self.device).manual_seed(int(source.words(1)[0] >> np.uint64(1)))

    def shares(self, count: int) -> Any:
        """Shares of the codes of so many rows."""
        torch = self._torch
        latent = torch.randn((count, self._latent), generator=self._random, device=self.device)
        if not self._given:
            return shares_of_codes(self.encoding, self.network(latent), None, None)
        name, chances = self._given
        # numpy draws the codes: torch cannot draw none
        codes = torch.from_numpy(self.rng.choice(len(chances), count, p=chances)).to(self.device)
        one_hot = torch.nn.functional.one_hot(codes, len(chances)).to(latent.dtype)
        return shares_of_codes(self.encoding, self.network(torch.cat([latent, one_hot], 1)), name, codes)

    def rows(self, count: int) -> Any:
        """So many rows, as a critic sees them."""
        with self._torch.no_grad():
            return drawn_rows(self.encoding, self.shares(count), self._random) @ self.seen

    def follow(self, *, pace: float, judge: Callable[[Any], Any] | None = None, trust: float = 0.0) -> None:
        """One step on the tables, and on the mean of what a judge says of drawn rows, with this weight."""
        shares = self.shares(self._count)
        loss = self._matching.loss(shares).clamp(min=1e-9).log()
        if judge is not None and trust:
            rows = drawn_rows(self.encoding, shares, self._random) @ self.seen
            loss = loss - trust * judge(rows).mean()
        check_finite(self._torch, [loss])
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate * max(pace, _LEAST_PACE)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()

    def model(self) -> Generator:
        """As it is, as a model that needs no torch."""
        return as_generator(self.encoding, self.network, self._latent, self._given)
