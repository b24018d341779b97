"""PRAM: its published matrix is what is drawn, its loss is exact, its estimates are unbiased and cover."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.masking.columns import Column, Columns, read_columns
from tacita.anonymize.masking.pram import Pram, PramMatrix, invariant_matrix, keep_channel
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource

LABELS = ("a", "b", "c", "(other)")


def column_of(codes: np.ndarray, declared: tuple[str, ...] = ("a", "b", "c")) -> Columns:
    made = Column(name="job", kind="categorical", values=codes, labels=LABELS, declared=declared)
    return Columns(columns={"job": made}, rows=len(codes))


class Words:
    """A source that gives every word of a list, so that all draws of a channel can be listed."""

    simulated = True

    def __init__(self, words: np.ndarray) -> None:
        self.left = words

    def words(self, count: int) -> np.ndarray:
        taken, self.left = self.left[:count], self.left[count:]
        return taken


def test_the_published_matrix_is_the_law_of_the_draws() -> None:
    """All equally likely words are enumerated: released levels have exactly the published probabilities."""
    step = Pram(attributes=("job",), keep=0.75)  # total 12: one word in 12 for each weight
    channel = keep_channel(3, 0.75)
    total = channel.total
    for true in range(3):
        words = (np.arange(total, dtype=np.uint64) << np.uint64(11)).astype(np.uint64)
        made = step.apply(column_of(np.full(total, true)), Words(words))
        released = np.bincount(made.columns["job"].values, minlength=3)
        published = made.published["job"].as_dict()
        assert released.tolist() == published["weights"][true]
        assert published["total"] == total
        assert Fraction(published["weights"][true][true], total) == Fraction(3, 4)


@pytest.mark.parametrize(("levels", "keep"), [(2, 0.9), (3, 0.8), (7, 0.333), (500, 0.01)])
def test_the_loss_is_the_largest_ratio_of_the_matrix(levels: int, keep: float) -> None:
    channel = keep_channel(levels, keep)
    weights = channel.weights()
    worst = max(Fraction(int(column.max()), int(column.min())) for column in weights.T)
    assert math.exp(channel.epsilon) == pytest.approx(float(worst), rel=1e-12)
    assert channel.epsilon == pytest.approx(math.log(keep * (levels - 1) / (1 - keep)), rel=1e-9)
    assert channel.epsilon_upper >= channel.epsilon


def test_an_epsilon_is_kept(domain: Domain) -> None:
    channel = Pram(attributes=("job",), epsilon=1.3).channel(domain["job"])
    assert channel.levels == 4  # its bucket for other values is a level
    assert channel.epsilon_upper <= 1.3 < channel.epsilon + 1e-8


def test_missing_and_undeclared_values_are_drawn_like_all_others(domain: Domain) -> None:
    """Where the schema has no bucket, such a value becomes a uniform level; leaving it would reveal it."""
    schema = [{"name": "job", "kind": "categorical", "levels": ["a", "b", "c"]}]
    bare = Domain.from_dict({"tacita": 1, "attributes": schema})
    table = pa.table({"job": pa.array([None, "pope"] * 3000, pa.string())})
    made = Pram(attributes=("job",), keep=0.9).apply(read_columns(bare, table, ["job"]), SeededSource(3))
    counts = np.bincount(made.columns["job"].values, minlength=3)
    assert not made.columns["job"].missing.any()
    assert counts.sum() == 6000
    assert counts[:3].sum() == 6000
    assert np.abs(counts / 6000 - 1 / 3).max() < 0.03
    kept = read_columns(domain, pa.table({"sex": pa.array([None] * 2000, pa.string())}), ["sex"])
    drawn = Pram(attributes=("sex",), keep=0.9).apply(kept, SeededSource(4))
    share = drawn.columns["sex"].missing.mean()
    assert 0.85 < share < 0.95  # missing is a level of its own here


def test_estimates_are_unbiased_and_intervals_cover() -> None:
    truth = np.repeat([0, 1, 2], [500, 300, 200])
    step, source = Pram(attributes=("job",), keep=0.6), SeededSource(7)
    found, covered, errors = [], 0, []
    for _ in range(400):
        matrix: PramMatrix = step.apply(column_of(truth), source).published["job"]
        estimate = matrix.estimate()
        found.append(estimate.frequencies)
        errors.append(estimate.std())
        covered += int(estimate.interval(0.95).covers([0.5, 0.3, 0.2]).sum())
    spread = np.std(found, axis=0)
    assert np.abs(np.mean(found, axis=0) - [0.5, 0.3, 0.2]).max() < 4 * spread.max() / 20
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.15)
    assert 0.925 < covered / 1200 < 0.975


def test_a_reader_estimates_from_the_release_alone() -> None:
    truth = np.repeat([0, 1, 2], [700, 200, 100])
    made = Pram(attributes=("job",), keep=0.8).apply(column_of(truth), SecureSource())
    text = json.dumps(made.published["job"].as_dict())
    read = PramMatrix.from_dict(json.loads(text))
    again = read.estimate(made.columns["job"].to_arrow())
    assert again.frequencies == pytest.approx(json.loads(text)["shares"], abs=1e-9)
    assert again.std() == pytest.approx(json.loads(text)["errors"], rel=1e-6)
    assert read.epsilon == pytest.approx(math.log(8), rel=1e-12)
    with pytest.raises(InvalidInput, match="does not have"):
        read.estimate(pa.array(["pope"]))


def test_invariant_pram_keeps_the_expected_table() -> None:
    counts = np.array([700, 50, 249, 1])
    channel = invariant_matrix(keep_channel(4, 0.7).matrix(), counts)
    assert counts @ channel.matrix() == pytest.approx(counts, rel=1e-9)
    truth = np.repeat([0, 1, 2], [700, 50, 250])
    made = Pram(attributes=("job",), keep=0.7, invariant=True).apply(column_of(truth), SeededSource(2))
    matrix = made.published["job"]
    assert (matrix.labels, matrix.exact, matrix.epsilon) == (("a", "b", "c"), True, None)
    assert "exact shares" in made.notes[0]
    alone = Pram(attributes=("job",), keep=0.7, invariant=True).apply(column_of(np.zeros(5, int)), SeededSource(2))
    assert not alone.published
    assert "one level" in alone.notes[0]


@pytest.mark.parametrize(
    "wrong",
    [{}, {"keep": 0.5, "epsilon": 1.0}, {"keep": 1.0}, {"keep": 0}, {"epsilon": -1.0}, {"keep": 0.5, "invariant": "x"}],
)
def test_parameters_are_checked(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        Pram(attributes=("job",), **wrong)


def test_a_matrix_that_keeps_nothing_is_refused(domain: Domain) -> None:
    with pytest.raises(InvalidInput, match="1/4"):
        Pram(attributes=("job",), keep=0.25).resolve(domain)
    many = [{"name": "x", "kind": "categorical", "levels": [f"l{i}" for i in range(501)]}]
    with pytest.raises(InvalidInput, match="500 levels"):
        Pram(attributes=("x",), keep=0.5).resolve(Domain.from_dict({"tacita": 1, "attributes": many}))
