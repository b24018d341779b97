"""Microaggregation of columns: groups, sums of squares, missing cells, blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Column, Columns
from tacita.anonymize.masking.microaggregate import Microaggregate, group_rows, sum_of_squares
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

SOURCE = SeededSource(1)


def columns_of(**values: list[float]) -> Columns:
    made = {name: Column(name=name, kind="numeric", values=np.array(each, float)) for name, each in values.items()}
    return Columns(columns=made, rows=len(next(iter(values.values()))))


def matrix_of(columns: Columns, names: tuple[str, ...]) -> np.ndarray:
    return np.stack([columns[name].values for name in names], axis=1)


@pytest.mark.parametrize("k", [2, 5, 17])
def test_values_are_shared_by_k_rows_and_means_are_kept(columns: Columns, k: int) -> None:
    names = ("income", "debt", "age")
    made = Microaggregate(attributes=names, k=k).apply(columns, SOURCE)
    before, after = matrix_of(columns, names), matrix_of(made.columns, names)
    times = Counter(map(tuple, after.tolist()))
    assert min(times.values()) >= k
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), rel=1e-12)
    # the sum of squares splits into that within groups and that between them
    for j in range(3):
        within = float(((before[:, j] - after[:, j]) ** 2).sum())
        assert within + sum_of_squares(after[:, j]) == pytest.approx(sum_of_squares(before[:, j]), rel=1e-12)
    lost = [((before[:, j] - after[:, j]) ** 2).sum() / sum_of_squares(before[:, j]) for j in range(3)]
    assert made.figures["loss"] == pytest.approx(np.mean(lost), rel=1e-9)
    assert made.figures["groups"] == len(times)


def test_medians_of_groups() -> None:
    made = Microaggregate(attributes=("x",), k=3, centre="median").apply(columns_of(x=[9, 1, 2, 100, 101, 900]), SOURCE)
    assert made.columns["x"].values.tolist() == [2, 2, 2, 101, 101, 101]
    even = Microaggregate(attributes=("x",), k=2, centre="median").apply(columns_of(x=[5, 1]), SOURCE)
    assert even.columns["x"].values.tolist() == [3, 3]


def test_one_attribute_is_optimal_and_mdav_can_be_asked_for() -> None:
    values = np.random.default_rng(3).lognormal(size=200).tolist()
    losses = {}
    for way in ("auto", "optimal", "mdav"):
        losses[way] = Microaggregate(attributes=("x",), k=4, method=way).apply(columns_of(x=values), SOURCE).figures
    assert losses["auto"]["loss"] == losses["optimal"]["loss"] < losses["mdav"]["loss"]
    with pytest.raises(InvalidInput, match="one attribute"):
        Microaggregate(attributes=("x", "y"), k=4, method="optimal")


def test_separated_clusters_are_found() -> None:
    """Clusters of k points that lie far apart are the best groups: any other group would cross a gap."""
    rng = np.random.default_rng(5)
    centres = np.array([(i * 1000.0, (i % 7) * 1000.0, (i * i % 11) * 1000.0) for i in range(40)])
    points = np.repeat(centres, 4, axis=0) + rng.normal(size=(160, 3))
    order = rng.permutation(160)
    groups, blocks = group_rows(points[order], 4)
    assert blocks == 1
    assert len({(g, c) for g, c in zip(groups.tolist(), (order // 4).tolist(), strict=True)}) == 40


def test_groups_do_not_depend_on_the_order_of_rows(columns: Columns) -> None:
    points = matrix_of(columns, ("income", "debt"))
    order = np.random.default_rng(2).permutation(len(points))
    one, other = group_rows(points, 3)[0], group_rows(points[order], 3)[0]
    assert (one[order] == other).all()


def test_rows_above_a_block_are_cut_along_their_first_component() -> None:
    points = np.random.default_rng(7).normal(size=(1000, 2)) * (10, 1)
    groups, blocks = group_rows(points, 3, block=100)
    sizes = np.bincount(groups)
    assert blocks == 10
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    # no group crosses a cut: blocks are intervals of the first component, here nearly the first axis
    rank = np.argsort(np.argsort(points @ np.linalg.svd(points - points.mean(axis=0))[2][0])) // 100
    assert all(len(set(rank[groups == g].tolist())) == 1 for g in range(len(sizes)))
    whole = group_rows(points, 3)[0]
    assert squares(points, whole) <= squares(points, groups) * 1.05


def squares(points: np.ndarray, groups: np.ndarray) -> float:
    return sum(((points[groups == g] - points[groups == g].mean(axis=0)) ** 2).sum() for g in np.unique(groups))


def test_missing_cells_stay_missing_and_rare_patterns_are_hidden() -> None:
    nan = float("nan")
    x = [1, 2, 3, 4, nan, nan, nan, 8, nan]
    y = [1, 2, 3, 4, 10, 20, 30, nan, nan]
    made = Microaggregate(attributes=("x", "y"), k=3).apply(columns_of(x=x, y=y), SOURCE)
    after = matrix_of(made.columns, ("x", "y"))
    assert (np.isnan(after) >= np.isnan(np.array([x, y]).T)).all()
    assert after[:4].tolist() == [[2.5, 2.5]] * 4
    assert np.isnan(after[4:7, 0]).all()
    assert after[4:7, 1].tolist() == [20, 20, 20]
    # one row lacks y alone: nothing hides its x
    assert np.isnan(after[7]).all()
    assert made.figures["hidden"] == 1
    assert "set missing" in made.notes[0]


def test_equal_values_lose_nothing() -> None:
    made = Microaggregate(attributes=("x", "y"), k=2).apply(columns_of(x=[3] * 5, y=[1] * 5), SOURCE)
    assert made.figures["loss"] == 0
    assert made.columns["x"].values.tolist() == [3] * 5


@pytest.mark.parametrize("rows", [0, 4])
def test_fewer_rows_than_k_are_refused(rows: int) -> None:
    with pytest.raises(InvalidInput, match="fewer rows"):
        Microaggregate(attributes=("x",), k=5).apply(columns_of(x=[1.0] * rows), SOURCE)


@pytest.mark.parametrize("wrong", [{"k": 1}, {"k": 2.5}, {"k": 3, "centre": "mode"}, {"k": 3, "method": "best"}])
def test_parameters_are_checked(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        Microaggregate(attributes=("x",), **wrong)
