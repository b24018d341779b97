"""Means of a number in bins: loss and bias by exact enumeration, the sampler, the error, points from a schema."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.numbers.binned_means import (
    DuchiBins,
    HybridBins,
    PiecewiseBins,
    bin_middles,
    duchi_for,
    hybrid_for,
    line_points,
    piecewise_for,
)
from tacita.collect.channels.wiring import make_channel
from tacita.collect.device.channels import Duchi, Hybrid, Piecewise
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.testing.channel import ListedCalls, ListedWords, chi_square_p, worst_ratio

EXP = {0.1: Fraction("1.1051709180756477"), 0.7: Fraction("2.0137527074704766"), 1.0: Fraction("2.7182818284590453")}
EXP |= {2.0: Fraction("7.3890560989306503"), 4.0: Fraction("54.598150033144240")}
"""e^epsilon rounded up in the last place."""
LINES = {"even": (0, 1, 2, 3, 4), "uneven": (0, 1, 3, 4, 7), "two": (0, 1), "many": tuple(range(101))}
CLASSES = (DuchiBins, PiecewiseBins, HybridBins)


def made(cls, line, epsilon):
    if cls is HybridBins and epsilon < 0.61:
        pytest.skip("the hybrid is Duchi's coin there")
    return cls.of(points=LINES[line], epsilon=epsilon)


@pytest.mark.parametrize("epsilon", EXP)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("cls", CLASSES)
def test_the_enumerated_loss_is_at_most_epsilon(cls, line, epsilon):
    channel = made(cls, line, epsilon)
    found = worst_ratio(channel.weights())
    assert found == channel.worst_ratio == channel.wire().worst_ratio(channel.levels)
    assert 1 < found <= EXP[epsilon]
    assert channel.epsilon_upper <= epsilon
    assert channel.epsilon == pytest.approx(epsilon, abs=1e-6)
    channel.wire().check(channel.levels)


@pytest.mark.parametrize("epsilon", EXP)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("cls", CLASSES)
def test_the_exact_expectation_is_the_point(cls, line, epsilon):
    channel = made(cls, line, epsilon)
    values = channel.report_points()
    for row, point in zip(channel.weights(), channel.device.points, strict=True):
        assert sum(int(weight) for weight in row) == channel.total
        assert sum(Fraction(int(w), channel.total) * value for w, value in zip(row, values, strict=True)) == point


@pytest.mark.parametrize("cls", CLASSES)
def test_the_variance_is_that_of_the_law(cls):
    channel = cls.of(points=LINES["uneven"], epsilon=1.0)
    shares = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    last = channel.device.last
    values = np.array([float(value / last) for value in channel.report_points()])
    law = shares @ channel.matrix()
    assert channel.variance(shares) == pytest.approx(float(law @ (values - law @ values) ** 2))
    assert law @ values == pytest.approx(shares @ np.array(channel.device.points) / last)


def test_the_hybrid_has_the_least_worst_variance():
    at = [np.eye(101)[x] for x in (0, 50, 100)]
    worst = {cls: max(cls.of(points=LINES["many"], epsilon=2.0).variance(pi) for pi in at) for cls in CLASSES}
    assert worst[HybridBins] < worst[PiecewiseBins] < worst[DuchiBins]


@pytest.mark.parametrize("cls", CLASSES)
def test_sampled_reports_follow_the_law(cls):
    channel = cls.of(points=LINES["uneven"], epsilon=1.0)
    for x in (0, 2, 4):
        sent = channel.randomize(np.full(200_000, x), SeededSource(17 + x))
        assert chi_square_p(channel.tally(sent), channel.matrix()[x]) > 1e-5


@pytest.mark.parametrize(
    "channel",
    [
        DuchiBins(device=Duchi(least=3, step=2, points=(0, 1, 3, 4, 7))),
        PiecewiseBins(device=Piecewise(width=4, near=5, far=2, points=(0, 1, 3, 4, 7))),
    ],
)
def test_every_position_is_sampled_by_its_weight(channel):
    words = np.arange(channel.total, dtype=np.uint64) << np.uint64(11)
    for x in range(channel.levels):
        sent = channel.randomize(np.full(channel.total, x), ListedWords(words))
        assert channel.tally(sent).tolist() == channel.weights()[x].tolist()


def test_every_course_of_the_hybrid_is_sampled_by_its_weight():
    channel = HybridBins(device=Hybrid(mix=3, bits=3, least=1, step=3, width=2, near=4, far=1, points=(0, 1, 3)))
    for x in range(3):
        counts = np.zeros(channel.reports, dtype=np.int64)
        for part in range(8):
            for side in range(11):  # the total of both parts
                calls = [[part << 61], [side << 11]]
                counts += channel.tally(channel.randomize(np.array([x]), ListedCalls(calls)))
        wanted = channel.weights()[x] * (8 * 11)
        assert (counts * channel.total == wanted).all()


@pytest.mark.parametrize("cls", CLASSES)
def test_intervals_cover(cls):
    channel, rng, source = cls.of(points=LINES["uneven"], epsilon=1.0), np.random.default_rng(5), SeededSource(5)
    shares = np.array([0.4, 0.1, 0.1, 0.1, 0.3])
    truth = shares @ np.array(channel.device.points) / channel.device.last
    inside = 0
    for _ in range(400):
        found = channel.mean(channel.tally(channel.randomize(rng.choice(5, 500, p=shares), source)))
        low, high = found.interval(0.95)
        inside += low <= truth <= high
    assert 0.91 < inside / 400 < 0.985


@pytest.mark.parametrize("bad", [[1, 2, 3], [-1, 2], [0, 0], [0.5, 1]])
def test_a_tally_of_another_shape_is_refused(bad):
    with pytest.raises(InvalidInput):
        DuchiBins.of(points=(0, 1), epsilon=1.0).mean(np.array(bad))


# -- from a schema -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "middles", "points"),
    [
        ({"bounds": (0, 100), "bins": 4}, ["25/2", "75/2", "125/2", "175/2"], (0, 1, 2, 3)),
        ({"bounds": (0, 1), "bins": 3}, ["1/6", "1/2", "5/6"], (0, 1, 2)),
        ({"bounds": (0, 0.3), "edges": (0, 0.1, 0.3)}, ["1/20", "1/5"], (0, 1)),
        ({"bounds": (18, 20), "integer": True}, ["18", "19", "20"], (0, 1, 2)),
        ({"bounds": (0, 100), "edges": (0, 10, 20, 40, 100), "integer": True}, ["9/2", "29/2", "59/2", "70"],
         (0, 20, 50, 131)),
    ],
)  # fmt: skip
def test_points_are_in_proportion_to_the_middles(attribute, middles, points):
    number = Numeric(name="x", **attribute)
    assert [str(middle) for middle in bin_middles(number)] == middles
    assert line_points(Domain(attributes=(number,))) == points


def test_a_fine_line_is_rounded_to_a_grid():
    number = Numeric(name="x", bounds=(0, 1), edges=(0, 0.123457, 0.6543217, 1))
    points = line_points(Domain(attributes=(number,)))
    middles = [float(middle) for middle in bin_middles(number)]
    exact = [(middle - middles[0]) / (middles[-1] - middles[0]) for middle in middles]
    assert points[-1] == 1024
    assert np.abs(np.array(points) / 1024 - exact).max() <= 1 / 2048


def test_a_mean_is_for_one_number_without_buckets():
    domain = Domain(
        attributes=(
            Numeric(name="age", bounds=(0, 100), bins=10),
            Numeric(name="income", bounds=(0, 100), bins=10, missing=True),
            Categorical(name="town", levels=("a", "b")),
        )
    )
    for make in (duchi_for, piecewise_for, hybrid_for):
        assert make(domain.project(("age",)), 1.0).levels == 10
        for key in (("income",), ("town",), ("age", "town")):
            with pytest.raises(InvalidInput):
                make(domain.project(key), 1.0)


def test_below_its_threshold_the_hybrid_is_the_coin():
    domain = Domain(attributes=(Numeric(name="age", bounds=(0, 100), bins=10),))
    assert isinstance(make_channel("hybrid", domain, 0.5), DuchiBins)
    assert isinstance(make_channel("hybrid", domain, 0.7), HybridBins)
    with pytest.raises(InvalidInput, match=r"above 0\.61"):
        HybridBins.of(points=(0, 1), epsilon=0.5)


def test_an_epsilon_beyond_all_integers_is_refused():
    for cls in (DuchiBins, PiecewiseBins):
        with pytest.raises(InvalidInput):
            cls.of(points=tuple(range(1000)), epsilon=1e-15)
