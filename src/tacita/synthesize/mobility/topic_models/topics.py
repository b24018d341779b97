"""Topic models of visits: communities of cards by where they go, when, or both.  [Blei, Ng, Jordan 2003]

    SLDA     theta_c ~ Dir(alpha), phi_k ~ Dir(beta);   each visit: z ~ theta_c, place ~ phi_z
    TLDA     the same with times: psi_k ~ Dir(gamma), time ~ psi_z
    STLDA    one topic z for each visit: place ~ phi_z and time ~ psi_z

    recipe = Topics(kind="stlda", topics=10)
    model  = recipe.fit(visits, np.random.default_rng(1))

Several chains of the collapsed Gibbs sampler run from different starts. R-hat on the log-likelihood of the second half
of all chains shows whether they agree; theta, phi and psi are means over that half of the chain with the largest mean
log-likelihood, because topics of different chains have no common order.

Privacy: none. theta, phi and psi are functions of exact records: they are for the owner of the data.
Cost:    O(sweeps x visits x topics) for each chain, one thread for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models import gibbs
from tacita.synthesize.mobility.topic_models.convergence import split_rhat

__all__ = ["TopicKind", "TopicModel", "Topics"]

TopicKind = Literal["slda", "tlda", "stlda"]
Array = NDArray[np.float64]
Progress = Callable[[float], None]
_AGREE = 1.1
"""Largest R-hat of chains that are taken to agree."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicModel:
    """A fitted topic model. Exact: for the owner of the data.

    Attributes:
        recipe: The settings.
        theta: Topic mix of each card.
        phi: Distribution of places for each topic; None for TLDA.
        psi: Distribution of time segments for each topic; None for SLDA.
        z: Topic of each visit at the end.
        traces: Log-likelihood of each chain, every `every` sweeps.
        rhat: Of the second halves of the traces.
    """

    recipe: Topics
    theta: Array = field(repr=False)
    phi: Array | None = field(repr=False)
    psi: Array | None = field(repr=False)
    z: NDArray[np.int64] = field(repr=False)
    traces: Array = field(repr=False)
    rhat: float

    @property
    def topics(self) -> int:
        """Number of topics."""
        return self.recipe.topics

    @property
    def converged(self) -> bool:
        """Whether the chains agree: R-hat of at most 1.1."""
        return self.rhat <= _AGREE

    def weights(self, visits: Visits) -> Array:
        """Probability of each visit under each topic."""
        found = np.ones((len(visits.place), self.topics))
        if self.phi is not None:
            found *= self.phi.T[visits.place]
        if self.psi is not None:
            found *= self.psi.T[visits.segment]
        return found


@dataclass(frozen=True, kw_only=True)
class Topics:
    """Settings of a topic model.

    Args:
        kind: See the module.
        topics: Number of topics.
        alpha, beta, gamma: Symmetric Dirichlet priors of topics, places and times.
        sweeps: Passes over all visits.
        chains: Independent runs; at least 2 for R-hat.
        every: Sweeps between two records of the log-likelihood.
    """

    kind: TopicKind = "stlda"
    topics: int = 10
    alpha: float = 0.1
    beta: float = 0.1
    gamma: float = 0.1
    sweeps: int = 500
    chains: int = 4
    every: int = 10

    def __post_init__(self) -> None:
        check.one_of(self.kind, "kind", ("slda", "tlda", "stlda"))
        check.whole(self.topics, "topics", least=2, most=10_000)
        check.whole(self.chains, "chains", least=1, most=64)
        check.whole(self.every, "every", least=1)
        check.whole(self.sweeps, "sweeps", least=8 * self.every)
        for name in ("alpha", "beta", "gamma"):
            check.positive(getattr(self, name), name)

    def fit(
        self,
        visits: Visits,
        rng: np.random.Generator,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> TopicModel:
        """Sample the topics of visits.

        Args:
            visits: Taps of cards.
            rng: Gives each chain its seed; the result does not depend on the number of workers.
            workers: Chains that run at the same time; as many as there are cores if not given.
            progress: Called with the share that the first chain has done.
        """
        if not len(visits.place):
            raise InvalidInput("must be at least one visit", field="visits")
        seeds = rng.integers(0, 2**63, self.chains, dtype=np.uint64)
        chains = [_Chain(self, visits, seed) for seed in seeds]
        jobs = min(workers or os.cpu_count() or 1, self.chains)
        with ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(chain.run, progress if place == 0 else None) for place, chain in enumerate(chains)]
            for each in running:
                each.result()
        traces = np.array([chain.trace for chain in chains])
        half = traces[:, traces.shape[1] // 2 :]
        best = chains[int(np.argmax(half.mean(axis=1)))]
        return TopicModel(recipe=self, **best.estimates(), traces=traces, rhat=split_rhat(half))

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return plain_fields(self)


class _Chain:
    """One run of the sampler."""

    def __init__(self, recipe: Topics, visits: Visits, seed: np.uint64) -> None:
        self.recipe, self.trace = recipe, list[float]()
        self._state = np.array([seed], np.uint64)
        self._starts = visits.starts
        size, topics = len(visits.place), recipe.topics
        self._z = np.zeros(size, np.int64)
        self._cards = np.zeros((visits.cards, topics), np.int32)
        self._topics = np.zeros(topics, np.int64)
        self._tokens: dict[str, tuple[Any, Any, float]] = {}
        if recipe.kind != "tlda":
            self._tokens["phi"] = (visits.place, np.zeros((visits.places, topics), np.int32), recipe.beta)
        if recipe.kind != "slda":
            self._tokens["psi"] = (visits.segment, np.zeros((visits.segments, topics), np.int32), recipe.gamma)
        self._sums = {name: np.zeros(counts.shape) for name, (_, counts, _) in self._tokens.items()}
        self._sums["theta"] = np.zeros(self._cards.shape)

    def run(self, progress: Progress | None) -> None:
        for place, (token, counts, _) in enumerate(self._tokens.values()):
            gibbs.start(self._starts, token, self._z, self._cards, counts, self._topics, self._state, place == 0)
        rounds = self.recipe.sweeps // self.recipe.every
        for done in range(rounds):
            self._sweep(self.recipe.every)
            self.trace.append(self._log_likelihood())
            if done >= rounds // 2:
                for name, (_, counts, prior) in self._tokens.items():
                    self._sums[name] += (counts + prior) / (self._topics + prior * len(counts))
                mixes = self._cards + self.recipe.alpha
                self._sums["theta"] += mixes / mixes.sum(axis=1, keepdims=True)
            if progress is not None:
                progress((done + 1) / rounds)

    def _sweep(self, sweeps: int) -> None:
        tables = [(token, counts, prior) for token, counts, prior in self._tokens.values()]
        alpha = self.recipe.alpha
        if len(tables) == 1:
            ((token, counts, prior),) = tables
            gibbs.sweep_one(
                self._starts,
                token,
                self._z,
                self._cards,
                counts,
                self._topics,
                alpha,
                prior,
                sweeps,
                self._state,
            )
            return
        (place, places, beta), (time, times, gamma) = tables
        gibbs.sweep_both(
            self._starts,
            place,
            time,
            self._z,
            self._cards,
            places,
            times,
            self._topics,
            alpha,
            beta,
            gamma,
            sweeps,
            self._state,
        )

    def _log_likelihood(self) -> float:
        """ln p(visits, z): all that the counts hold."""
        found: float = gibbs.log_likelihood(self._cards, self.recipe.alpha, False)
        for _, counts, prior in self._tokens.values():
            found += gibbs.log_likelihood(counts, prior, True)
        return found

    def estimates(self) -> dict[str, Any]:
        kept = len(self.trace) - len(self.trace) // 2
        found: dict[str, Any] = {"phi": None, "psi": None, "z": self._z}
        for name, sums in self._sums.items():
            mean = sums / kept
            found[name] = mean if name == "theta" else np.ascontiguousarray(mean.T)
        return found
