"""A model in which one attribute, the target, is predicted by the others as in the measured tables.

    fit_by_class   from all tables (a, b, target): a mixture of products for each level of the target
    fit_star       from all tables (a, target): given the target, all others are independent

By class, a mixture is first fitted to the tables summed over the target, with the target as one more attribute; the
noise of a sum over L levels has L times the variance. Given a level, its components get other weights. Descent goes on
from there to the tables of that level alone and stops at their noise. So a rare level borrows what all levels share,
and a common one has a model of its own. Where noise hides all dependence in the sums, each level begins anew. The
components of a level hold it with certainty, and those of all levels together are one mixture.

Privacy: post-processing of released tables.   Claim: docs/claims/marginal-synthesis.md
Utility: keeps interactions of two attributes about the target, which tables of two attributes cannot hold.
Cost: as for all pairs, once for all levels and once for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.models.fit import fit_network
from tacita.models.measurement import Measurement, singles_of
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import COMPONENTS, FITS, STEPS, fit_mixture, fit_near
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.stacked import shrink
from tacita.tables.cells import Cells
from tacita.tables.consistency import weighted_mean
from tacita.tables.simplex import to_distribution

__all__ = ["ByClass", "fit_by_class", "fit_star"]

Array = NDArray[np.float64]

_MOST_COMPONENTS = 4000  # of all levels together
_FEWEST_COMPONENTS = 20  # of one level
_KEPT = 0.99  # of the weight of a level
_LEAST_SHARE = 1e-4  # of a level, so that its tables can be divided by it


@dataclass(frozen=True, kw_only=True, eq=False)
class ByClass:
    """A fitted model.

    Attributes:
        model: The mixture.
        losses: Of each level's own tables, see `Fitted`.
        hidden: Whether no dependence could be distinguished from noise in the tables summed over the target.
    """

    model: Mixture
    losses: tuple[float, ...]
    hidden: bool


def fit_by_class(
    domain: Domain,
    target: str,
    measurements: Sequence[Measurement],
    rng: np.random.Generator,
    *,
    components: int = COMPONENTS,
    fits: int = FITS,
    steps: int = STEPS,
) -> ByClass:
    """Fit a mixture for each level of the target.

    Args:
        domain: At least three attributes.
        target: One of them.
        measurements: Tables over the target and two others; each such triple once, with one variance for all cells.
        rng: For the starts; they need no secrecy.
        components, fits, steps: See `fit_mixture`.
    """
    by_level = [_given(each, target) for each in measurements]
    pooled = [_summed(names, values, variance) for names, values, variance in by_level]
    pooled += _with_target(domain, target, by_level)
    whole = fit_mixture(domain, pooled, rng, components=components, fits=fits, steps=steps)
    shares = singles_of(domain, pooled)[target]
    others = domain.project([name for name in domain.names if name != target])
    most = max(_FEWEST_COMPONENTS, _MOST_COMPONENTS // shares.size)
    parts, losses = [], []
    for level, share in enumerate(np.maximum(shares, _LEAST_SHARE).tolist()):
        own = [
            Measurement(attributes=names, values=values[..., level] / share, variance=variance / share**2)
            for names, values, variance in by_level
        ]
        if whole.hidden:  # nothing to borrow
            found = fit_mixture(others, own, rng, components=min(components, most), fits=1, steps=steps)
        else:
            found = fit_near(_conditioned(whole.model, others, target, level, most), own, steps=steps)
        parts.append(found.model)
        losses.append(found.loss)
    return ByClass(model=_joined(domain, target, shares, parts), losses=tuple(losses), hidden=whole.hidden)


def fit_star(domain: Domain, target: str, measurements: Sequence[Measurement]) -> BayesianNetwork:
    """Fit a network in which the target is the only parent of each other attribute.

    Args:
        domain: At least two attributes.
        target: One of them.
        measurements: Tables over the target and one other, each once. Dependence is shrunk as noise asks for.
    """
    singles = singles_of(domain, measurements)
    by_name = {name: each for each in measurements for name in each.attributes if name != target}

    def table(names: tuple[str, ...]) -> Cells:
        if len(names) == 1:
            return Cells(domain.project(names), singles[names[0]])
        found = by_name[names[-1]]
        one, other = found.attributes
        near = to_distribution(shrink(found, np.outer(singles[one], singles[other])))
        return Cells(domain.project(found.attributes), near).project(names)

    parents: dict[str, tuple[str, ...]] = {name: () if name == target else (target,) for name in domain.names}
    return fit_network(domain, parents, table, repair=lambda cells: cells)


_Given = tuple[tuple[str, ...], Array, float]  # the others, the table with the target last, the variance of a cell


def _given(measured: Measurement, target: str) -> _Given:
    axis = measured.attributes.index(target)
    names = tuple(name for name in measured.attributes if name != target)
    return names, np.moveaxis(measured.values, axis, -1), float(np.mean(measured.variance))


def _summed(names: tuple[str, ...], values: Array, variance: float) -> Measurement:
    return Measurement(attributes=names, values=values.sum(axis=-1), variance=variance * values.shape[-1])


def _with_target(domain: Domain, target: str, measured: Sequence[_Given]) -> list[Measurement]:
    """The table of each other attribute with the target: averaged over all tables that hold it, by precision."""
    sums: dict[str, list[tuple[Array, float]]] = {name: [] for name in domain.names if name != target}
    for names, values, variance in measured:
        for axis, name in enumerate(names):
            sums[name].append((values.sum(axis=1 - axis), variance * values.shape[1 - axis]))
    found = []
    for name, each in sums.items():
        mean, variance = weighted_mean(*zip(*each, strict=True))
        found.append(Measurement(attributes=(name, target), values=np.asarray(mean), variance=float(variance)))
    return found


def _conditioned(model: Mixture, others: Domain, target: str, level: int, most: int) -> Mixture:
    """The other attributes given a level, from the components that weigh most: nearly all weight, at most so many."""
    weights = model.weights * model.tables[target][:, level]
    heaviest = np.argsort(-weights, kind="stable")
    needed = np.searchsorted(np.cumsum(weights[heaviest]), _KEPT * weights.sum()) + 1
    kept = np.sort(heaviest[: min(int(needed), most)])
    return Mixture(
        domain=others,
        weights=weights[kept] / weights[kept].sum(),
        tables={name: model.tables[name][kept] for name in others.names},
    )


def _joined(domain: Domain, target: str, shares: Array, parts: Sequence[Mixture]) -> Mixture:
    """One mixture of the models of all levels, each with its share."""
    ends = np.cumsum([0, *(part.components for part in parts)])
    certain = np.zeros((int(ends[-1]), shares.size))
    for level, (start, end) in enumerate(pairwise(ends.tolist())):
        certain[start:end, level] = 1.0
    weights = np.concatenate([share * part.weights for share, part in zip(shares, parts, strict=True)])
    tables = {
        name: certain if name == target else np.concatenate([part.tables[name] for part in parts])
        for name in domain.names
    }
    return Mixture(domain=domain, weights=weights / weights.sum(), tables=tables)
