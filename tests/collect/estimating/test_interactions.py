"""Averaged parts against brute force: dense covariances, and generalised least squares over the full table."""

import itertools

import numpy as np
import pytest

from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.interactions import Interactions, centred_margin, part_precisions, products_of
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import Asked, CollectionDesign, best_for
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource

DOMAIN = Domain(
    attributes=[
        Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in zip("abcd", (2, 3, 2, 4), strict=True)
    ]
)
VIEWS = (("a", "b", "c"), ("b", "d"), ("c", "d"), ("a",))


def evidence(seed=1, people=4000):
    questions = tuple(
        Asked(attributes=view, channel=best_for(DOMAIN.project(view), 1.5, 1000), share=1 / 4) for view in VIEWS
    )
    design = CollectionDesign(domain=DOMAIN, questions=questions, epsilon=1.5, respondents=people, mode="tables")
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, DOMAIN[name].size, people) for name in DOMAIN.names}
    return Evidence.of(Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1)))


def test_parts_of_a_table_add_up_to_it():
    table = np.random.default_rng(1).random((2, 3, 4))
    total = np.full(table.shape, table.mean())
    for size in (1, 2, 3):
        for axes in itertools.combinations(range(3), size):
            part = centred_margin(table, axes)
            wide = [table.shape[axis] if axis in axes else 1 for axis in range(3)]
            total = total + part.reshape(wide) / (table.size / part.size)
            for axis in range(part.ndim):
                np.testing.assert_allclose(part.sum(axis=axis), 0, atol=1e-12)
    np.testing.assert_allclose(total, table)


def test_precisions_are_those_of_the_dense_covariance():
    found = evidence()
    at = products_of(found)
    for (key, names), precision in part_precisions(found).items():
        shape = DOMAIN.project(key).shape
        dense = found.covariance(key, at[key]).dense()
        axes = tuple(key.index(name) for name in names)
        rows = np.array([centred_margin(cell.reshape(shape), axes).reshape(-1) for cell in np.eye(dense.shape[0])])
        variance = np.diag(rows.T @ dense @ rows)
        free = np.prod([(DOMAIN[name].size - 1) / DOMAIN[name].size for name in names])
        np.testing.assert_allclose(precision.reshape(-1), free / variance, rtol=1e-9)


def test_a_part_is_averaged_by_precision_over_all_tables_that_hold_it():
    found = evidence()
    precisions, measured = part_precisions(found), Interactions.of(found)
    for name, block in zip(DOMAIN.names, measured.blocks, strict=True):
        held = [key for key in VIEWS if name in key]
        known = [precisions[key, (name,)] for key in held]
        parts = [centred_margin(found.values[key], (key.index(name),)) for key in held]
        expected = sum(k * p for k, p in zip(known, parts, strict=True)) / sum(known)
        np.testing.assert_allclose(measured.singles[block], expected)
        np.testing.assert_allclose(measured.single_precision[block], sum(known))
    assert measured.measured_pairs == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    pair = measured.pairs[measured.blocks[1], measured.blocks[3]]
    np.testing.assert_allclose(pair, centred_margin(found.values["b", "d"], (0, 1)), atol=1e-12)
    np.testing.assert_allclose(measured.pairs, measured.pairs.T)


def test_precisions_are_the_true_ones():
    """Over many collections squared errors times precision are as many as there are free numbers."""
    seen = []
    for seed in range(60):
        measured = Interactions.of(evidence(seed, 3000))
        seen.append((measured.single_precision * measured.singles**2).sum())  # all shares are even
    free = sum(size - 1 for size in DOMAIN.shape)
    assert np.mean(seen) == pytest.approx(free, abs=4 * np.sqrt(2 * free / 60))
