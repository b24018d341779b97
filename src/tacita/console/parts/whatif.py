"""Conditional distributions of a released model.

    read_model    a network or another model, from a release's model or a campaign's network
    what_if       the shares of a target, among all and among those who have what is given
    what_is_sure  the same shares with intervals of the true ones
    associations  mutual information of each pair of attributes, in bits

Privacy: post-processing; questions to a released model cost nothing.
Utility: answers are the model's. Dependences that it does not hold are missing from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacita.console.look.charts import Chart
from tacita.console.look.maps import network
from tacita.domain import Domain
from tacita.models import BayesianNetwork, conditional, mutual_information
from tacita.synthesize.intervals.answer import Intervals, compute_intervals
from tacita.synthesize.intervals.measured import MeasuredTables
from tacita.synthesize.result import Model, Synthesized
from tacita.tables.cells import Cells

__all__ = [
    "ConditionalShares",
    "KnownModel",
    "associations",
    "picture_of",
    "read_campaign",
    "read_release",
    "what_if",
    "what_is_sure",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownModel:
    """A model and its description.

    Attributes:
        model: Gives tables of shares.
        network: The same where it is a network.
        promise: Its guarantee, in words.
        rests_on: Its sources, in words.
        weights: How much its edges matter, where that is known.
        measured: Tables that it was fitted to, for intervals, where they are known.
    """

    model: Model
    network: BayesianNetwork | None
    promise: str
    rests_on: tuple[str, ...]
    weights: Mapping[tuple[str, str], float] | None = None
    measured: MeasuredTables | None = None

    @property
    def domain(self) -> Domain:
        """Return the domain of its attributes."""
        return self.model.domain


def read_release(text: str) -> KnownModel:
    """From the JSON of a release's model."""
    made = Synthesized.from_json(text)
    network = made.model if isinstance(made.model, BayesianNetwork) else None
    method = made.provenance.recipe.get("method", "unknown")
    notes = made.notes or (f"Made by the method {method}.",)
    return KnownModel(
        model=made.model, network=network, promise=made.statement(), rests_on=notes, measured=made.measured
    )


def read_campaign(data: Mapping[str, Any]) -> KnownModel:
    """From a campaign's network, as the REST interface returns it."""
    network = BayesianNetwork.from_dict(data["network"])
    weights = {(parent, link["child"]): float(link["bits"]) for link in data["links"] for parent in link["parents"]}
    rests_on = tuple(
        f"{link['child']} from {' and '.join(link['parents'])}: {link['bits']:.3f} bits, {_chance(link['p_value'])}"
        for link in data["links"]
        if link["parents"]
    )
    promise = "Estimated from randomised reports: local differential privacy protects each respondent."
    empty = ("No significant dependence was found. More reports may show some.",)
    return KnownModel(
        model=network, network=network, promise=promise, rests_on=rests_on or empty, weights=weights or None
    )


def _chance(value: float) -> str:
    return "p-value below 0.001" if value < 0.001 else f"p-value {value:.3f}"


def picture_of(known: KnownModel) -> Chart:
    """The network as a chart; the stronger a link, the wider its arrow."""
    assert known.network is not None
    return network(known.network.parents, weights=known.weights, title="Network of the attributes")


@dataclass(frozen=True, kw_only=True)
class ConditionalShares:
    """Shares of a target's levels: among all, and among those who have what is given."""

    levels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    share_given: float
    """How many have what is given, as the model has it."""


def what_if(model: Model, target: str, given: Mapping[str, str]) -> ConditionalShares:
    """P(target) and P(target | given), exactly as the model has them.

    Args:
        model: Gives tables of shares.
        target: What is asked about.
        given: Levels, by attribute; the target is not among them.
    """
    domain = model.domain
    known = {name: domain[name].all_labels.index(level) for name, level in given.items() if name != target}
    before = conditional(model, (target,), {}).values
    after = conditional(model, (target,), known).values if known else before
    table = model.project(tuple(known)).values if known else np.ones(())
    return ConditionalShares(
        levels=domain[target].all_labels,
        before=tuple(before.tolist()),
        after=tuple(after.tolist()),
        share_given=float(table[tuple(known.values())] / table.sum()),
    )


def what_is_sure(known: KnownModel, target: str, given: Mapping[str, str]) -> list[Intervals]:
    """The shares of a target with their intervals, among all and then given levels; none where the model has none."""
    if known.measured is None:
        return []
    domain = known.domain
    found: list[Intervals] = []
    for levels in ({}, {name: level for name, level in given.items() if name != target}):
        codes = {name: domain[name].all_labels.index(level) for name, level in levels.items()}
        masks = {name: np.arange(domain[name].size) == code for name, code in codes.items()}
        estimate = Cells(domain.project([target]), conditional(known.model, (target,), codes).values)
        if codes or not found:
            found.append(compute_intervals(known.measured, estimate, domain, people=math.nan, masks=masks))
    return found


def associations(model: Model, most: int = 12) -> tuple[tuple[str, ...], list[list[float]]]:
    """The mutual information of every pair of the first attributes, in bits, as the model has it."""
    names = model.domain.countable[:most]
    bits = np.zeros((len(names), len(names)))
    for (i, one), (j, other) in combinations(enumerate(names), 2):
        bits[i, j] = bits[j, i] = mutual_information(model.project((one, other)), (one,))
    return names, bits.tolist()
