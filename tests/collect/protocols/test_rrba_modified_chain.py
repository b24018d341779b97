"""A coin for each set: the loss by enumeration of the whole channel, the naive estimator's bias, EM without it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.protocols.rrba_modified_chain import MAX_JOINT, CoinPerSet, naive
from tacita.demo import survey
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells

BITS = Domain(attributes=[Boolean(name=name) for name in "ABC"])
SETS = (("A", "B"), ("B", "C"))
EVEN = Cells(BITS.project(["B", "C"]), np.full((2, 2), 0.25))


def skewed(seed, domain=BITS, sets=SETS):
    rng = np.random.default_rng(seed)
    shapes = {key: domain.project(key) for key in sets}
    return {
        key: Cells(small, rng.dirichlet(np.full(small.size, 0.5)).reshape(small.shape)) for key, small in shapes.items()
    }


def enumerated(channel):
    """The largest log ratio within a column of the whole channel."""
    law = channel.matrix()
    np.testing.assert_allclose(law.sum(axis=1), 1)
    return float(np.log(law.max(axis=0) / law.min(axis=0)).max())


def test_the_survey_example_is_ln_300():
    """24 cells, then 3, then 2, each with p = 1/2 and uniform fakes; the publication says ln 2."""
    channel = CoinPerSet.of(survey.DOMAIN, survey.PARENT_SETS, keep=0.5)
    assert [segment.new for segment in channel.segments] == [("A", "E", "R", "S"), ("T",), ("O",)]
    assert [segment.worst_ratio for segment in channel.segments] == [25, 4, 3]
    assert channel.worst_ratio == 300
    assert channel.bound == pytest.approx(math.log(300), abs=1e-12)
    assert enumerated(channel) == pytest.approx(math.log(300), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_exact_loss_is_enumerated_and_the_sum_bounds_it(seed):
    sizes = {"A": 2, "B": 3, "C": 2, "D": 2}
    domain = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in sizes.items()])
    sets = (("A", "B"), ("B", "C"), ("A", "C", "D"))
    channel = CoinPerSet.of(domain, sets, keep=0.3, tables=skewed(seed, domain, sets), floor=0.2)
    assert channel.epsilon == pytest.approx(enumerated(channel), abs=1e-9)
    assert channel.epsilon_upper <= channel.bound
    even = CoinPerSet.of(domain, sets, keep=Fraction(1, 3))
    assert even.epsilon_upper == even.bound == pytest.approx(enumerated(even))


def test_the_sum_is_not_always_reached():
    """The rarest fake of the second segment stands where the first one's does not."""
    tables = {
        ("A", "B"): Cells(BITS.project(["A", "B"]), np.array([[0.05, 0.45], [0.05, 0.45]])),
        ("B", "C"): Cells(BITS.project(["B", "C"]), np.array([[0.25, 0.25], [0.49, 0.01]])),
    }
    channel = CoinPerSet.of(BITS, SETS, keep=0.5, tables=tables, floor=0.01)
    assert channel.epsilon == pytest.approx(enumerated(channel), abs=1e-9)
    assert channel.epsilon < channel.bound - 1


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_a_promise_is_kept(epsilon):
    for tables, floor in ((None, 1.0), (skewed(1), 0.3)):
        channel = CoinPerSet.within(BITS, SETS, epsilon=epsilon, tables=tables, floor=floor)
        assert channel.bound <= epsilon
        assert enumerated(channel) <= epsilon + 1e-9
    uniform = CoinPerSet.within(BITS, SETS, epsilon=epsilon)
    assert uniform.epsilon == pytest.approx(epsilon, abs=1e-8)


def test_rows_follow_the_channel():
    channel = CoinPerSet.of(BITS, SETS, keep=0.4, tables=skewed(3), floor=0.3)
    law, people = channel.matrix(), 100_000
    for record in (0, 3, 6):
        truth = dict(zip(channel.domain.names, np.unravel_index(np.full(people, record), (2, 2, 2)), strict=True))
        counts = channel.tally(channel.randomize(truth, SeededSource(record)))
        expected = law[record] * people
        assert ((counts - expected) ** 2 / expected).sum() < 7 + 5 * math.sqrt(14)


def test_the_naive_estimator_is_biased_and_em_is_not():
    """Three equal fair bits: set by set P(B = C) comes out as 3/4, the product channel gives 1."""
    channel, people = CoinPerSet.of(BITS, SETS, keep=0.5), 40_000
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    exact = Cells(channel.domain, (joint.reshape(-1) @ channel.matrix()).reshape(2, 2, 2))
    expected = naive(exact.project(["B", "C"]), EVEN, 0.5).values
    assert expected[0, 0] + expected[1, 1] == pytest.approx(0.75)
    first = naive(exact.project(["A", "B"]), Cells(BITS.project(["A", "B"]), np.full((2, 2), 0.25)), 0.5).values
    assert first[0, 0] + first[1, 1] == pytest.approx(1)  # the first set conditions on nothing
    bit = np.random.default_rng(5).integers(0, 2, people)
    counts = channel.tally(channel.randomize(dict.fromkeys("ABC", bit), SeededSource(5)))
    observed = Cells(channel.domain, counts.reshape(2, 2, 2) / people).project(["B", "C"])
    biased = naive(observed, EVEN, 0.5).values
    assert biased[0, 0] + biased[1, 1] == pytest.approx(0.75, abs=0.03)
    fitted = channel.most_likely(counts)
    table = Cells(channel.domain, fitted.frequencies.reshape(2, 2, 2)).project(["B", "C"]).values
    assert table[0, 0] + table[1, 1] > 0.97


def test_em_finds_the_survey():
    domain, people = survey.DOMAIN, 60_000
    public = {key: survey.truth().project(key) for key in survey.PARENT_SETS}
    channel = CoinPerSet.of(domain, survey.PARENT_SETS, keep=0.7, tables=public, floor=0.5)
    codes = domain.encode(survey.simulate(people, 1))
    fitted = channel.most_likely(channel.tally(channel.randomize(codes, SeededSource(1))), tolerance=1e-8)
    joint = Cells(channel.domain, fitted.frequencies.reshape(channel.domain.shape))
    for key in survey.PARENT_SETS:
        assert 0.5 * np.abs(joint.project(key).values - public[key].values).sum() < 0.04


def test_refusals():
    with pytest.raises(InvalidInput, match="keep"):
        CoinPerSet.of(BITS, SETS, keep=1.0)
    with pytest.raises(InvalidInput, match="floor"):
        CoinPerSet.of(BITS, SETS, keep=0.5, floor=0.0)
    wide = Domain(attributes=[Boolean(name=f"x{i}") for i in range(12)])
    channel = CoinPerSet.of(wide, [[f"x{i}", f"x{i + 1}"] for i in range(11)], keep=0.5)
    assert channel.domain.size > MAX_JOINT
    assert channel.epsilon_upper == channel.bound
    with pytest.raises(InvalidInput, match="one_set_design"):
        channel.most_likely(np.ones(2, dtype=np.int64))
    with pytest.raises(InvalidInput) as refused:
        CoinPerSet.of(BITS, SETS, keep=0.5).randomize(dict.fromkeys("ABC", np.array([7])), SeededSource(1))
    assert "7" not in str(refused.value)
