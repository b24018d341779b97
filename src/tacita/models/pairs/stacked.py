"""A model of measured pairs: a mixture of products and a tree, each with the share that the measurements give it.

    mixture   many components, stopped at the noise (`fit_mixture`): follows any dependence, blurs strong ones
    tree      the spanning tree of most mutual information, its tables shrunk towards independence as noise asks for
    share     least squares: s = <tree - mixture, y - mixture> / |tree - mixture|^2
    tables    that the two together miss by more than noise are set right (`Adjusted`), shrunk towards the model

The share must come from numbers that the two were not fitted to. Added noise makes such numbers: with z of the noise's
variance v, y + g z and y - z / g are uncorrelated, with variances v (1 + g^2) and v (1 + 1/g^2). Mixture and tree are
fitted to the first, and the share to the second. The standard error of the share is known, and pulls it to 0.

Privacy: post-processing of released tables.   Claim: docs/claims/marginal-synthesis.md
Utility: the tree helps where budgets are small or a chain of strong links is to be kept; with much noise and no tree in
the data its share is near 0.   [Wolpert 1992: stacking; Leiner et al. 2023: data fission; James, Stein 1961]
Cost: one more fit of a mixture, one start only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.models.blend import Blend
from tacita.models.chow_liu import chow_liu
from tacita.models.fit import fit_network
from tacita.models.measurement import Measurement, singles_of
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import COMPONENTS, FITS, STEPS, Fitted, fit_mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.adjusted import Adjusted
from tacita.models.pairs.pair_shares import blocks_of, pair_shares
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake
from tacita.tables.simplex import to_distribution

__all__ = ["Stacked", "fit_stacked", "shrink", "tree_of"]

Matrix = NDArray[np.float64]

_ADDED = 0.5  # g above: the fit sees a variance of 1.25, the share one of 5
_USUAL = 0.2  # standard deviation of the shares that are expected; an estimate with this error is halved
_LEAST_SHARE = 0.01
_SURE = 3.0  # standard errors of the squared misfit of a table, beyond which it is set right
_FEWEST = 4  # cells below which nothing is shrunk


@dataclass(frozen=True, kw_only=True, eq=False)
class Stacked:
    """A fitted model.

    Attributes:
        model: A mixture, or a blend of it with a tree; adjusted where tables were set right.
        loss: Of the mixture alone, see `Fitted`.
        share: Of the tree.
        adjusted: Number of tables that were set right.
        hidden: Whether no dependence could be distinguished from noise.
    """

    model: Mixture | Blend | Adjusted
    loss: float
    share: float = 0.0
    adjusted: int = 0
    hidden: bool = False


def fit_stacked(
    domain: Domain,
    measurements: Sequence[Measurement],
    rng: np.random.Generator,
    *,
    components: int = COMPONENTS,
    fits: int = FITS,
    steps: int = STEPS,
) -> Stacked:
    """Fit mixture and tree to measured pairs.

    Args:
        domain: The attributes.
        measurements: Tables over two attributes; all pairs, each once.
        rng: For starts and added noise; they need no secrecy.
        components, fits, steps: See `fit_mixture`.
    """
    fitted = fit_mixture(domain, measurements, rng, components=components, fits=fits, steps=steps)
    if len(domain.names) == 1:
        return Stacked(model=fitted.model, loss=fitted.loss, hidden=fitted.hidden)
    if fitted.hidden or len(domain.names) < 3:
        return _adjusted(domain, measurements, fitted, fitted.model, 0.0)
    share = _share(domain, measurements, rng, fitted.components, steps)
    if share < _LEAST_SHARE:
        return _adjusted(domain, measurements, fitted, fitted.model, 0.0)
    tree = tree_of(domain, measurements, pair_shares(fitted.model))
    blend = Blend(models=(fitted.model, tree), weights=(1 - share, share))
    return _adjusted(domain, measurements, fitted, blend, share)


def tree_of(domain: Domain, measurements: Sequence[Measurement], shares: Matrix) -> BayesianNetwork:
    """The tree of measured pairs.

    Args:
        domain: The attributes.
        measurements: Tables over two attributes; all pairs, each once.
        shares: Less noisy tables, which choose the tree: those of a fitted model.
    """
    blocks, singles = blocks_of(domain), singles_of(domain, measurements)
    by_set = {frozenset(each.attributes): each for each in measurements if len(each.attributes) == 2}

    def information(one: str, other: str) -> float:
        table = np.maximum(shares[blocks[one], blocks[other]], 1e-12)
        return float((table * np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0)))).sum())

    def table(names: tuple[str, ...]) -> Cells:
        if len(names) == 1:
            return Cells(domain.project(names), singles[names[0]])
        found = by_set[frozenset(names)]
        one, other = found.attributes
        shrunk = shrink(found, np.outer(singles[one], singles[other]))
        return Cells(domain.project(found.attributes), to_distribution(shrunk)).project(names)

    parents = chow_liu(domain.names, information, least=-math.inf)
    return fit_network(domain, parents, table, repair=lambda cells: cells)


def shrink(measured: Measurement, towards: Matrix, *, sure: float = 0.0, share: float = 1.0) -> Matrix:
    """Shrink a measured table towards another one, by James and Stein's estimate.

    Args:
        measured: A table over two attributes.
        towards: Of the same shape.
        sure: Standard errors of the noise that are taken off the distance besides its mean.
        share: Of what is taken off.
    """
    cells = measured.values.size
    if cells < _FEWEST:
        return towards
    off = measured.values - towards
    noise = share * float(np.mean(measured.variance)) * (cells + sure * math.sqrt(2 * cells))
    return np.asarray(towards + max(0.0, 1 - noise / max(float((off**2).sum()), 1e-300)) * off)


def _share(
    domain: Domain, measurements: Sequence[Measurement], rng: np.random.Generator, components: int, steps: int
) -> float:
    """Share of the tree, by least squares on numbers that were not fitted to."""
    seen, unseen = [], []
    for each in measurements:
        added = rng.normal(0, 1, each.values.shape) * np.sqrt(each.variance)
        seen.append(
            replace(each, values=each.values + _ADDED * added, variance=np.asarray(each.variance) * (1 + _ADDED**2))
        )
        unseen.append(each.values - added / _ADDED)
    fitted = fit_mixture(domain, seen, rng, components=components, fits=1, steps=steps, fewest=components)
    if fitted.hidden:
        return 0.0
    mixture = pair_shares(fitted.model)
    tree = pair_shares(tree_of(domain, seen, mixture))
    blocks = blocks_of(domain)
    along, length, noise = 0.0, 1e-300, 0.0
    for each, values in zip(measurements, unseen, strict=True):
        at = blocks[each.attributes[0]], blocks[each.attributes[1]]
        apart, variance = tree[at] - mixture[at], np.asarray(each.variance) * (1 + _ADDED**-2)
        along += float((apart * (values - mixture[at])).sum())
        length += float((apart**2).sum())
        noise += float((apart**2 * variance).sum())
    found, variance_of = along / length, noise / length**2
    return float(np.clip(found / (1 + variance_of / _USUAL**2), 0.0, 1.0))


def _adjusted(
    domain: Domain, measurements: Sequence[Measurement], fitted: Fitted, model: Mixture | Blend, share: float
) -> Stacked:
    shares, blocks = pair_shares(model), blocks_of(domain)
    singles = {name: Cells(domain.project([name]), values) for name, values in _singles(domain, shares).items()}
    tables = {}
    for each in measurements:
        one, other = each.attributes
        own = shares[blocks[one], blocks[other]]
        shrunk = shrink(each, own, sure=_SURE)
        if shrunk is own or np.array_equal(shrunk, own):
            continue
        over = domain.project(each.attributes)
        tables[one, other] = rake(Cells(over, to_distribution(shrunk)), [singles[one], singles[other]])
    ordered = {pair: tables[pair] for pair in combinations(domain.names, 2) if pair in tables}
    better = Adjusted(model=model, tables=ordered) if ordered else model
    return Stacked(model=better, loss=fitted.loss, share=share, adjusted=len(ordered), hidden=fitted.hidden)


def _singles(domain: Domain, shares: Matrix) -> dict[str, NDArray[np.float64]]:
    """Tables of single attributes, from those of two."""
    blocks = blocks_of(domain)
    other = dict(zip(domain.names, domain.names[1:] + domain.names[:1], strict=True))
    return {name: shares[blocks[name], blocks[other[name]]].sum(axis=1) for name in domain.names}
