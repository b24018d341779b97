"""Means: exact losses of the discretised laws, unbiasedness, variances against formulas and simulation, coverage."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.numbers.numeric import DuchiMean, HybridMean, MeanChannel, PiecewiseMean
from tacita.collect.channels.numbers.window import Window
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import ListedWords, chi_square_p, worst_ratio

KINDS = (DuchiMean, PiecewiseMean, HybridMean)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
SMALL = [
    Window(cells=9, width=3, near=5, far=2),
    Window(cells=6, width=1, near=3, far=1),
    Window(cells=7, width=6, near=2, far=1),
]


def theory(kind, epsilon, x):
    e, r = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2 - x**2
    piecewise = x**2 / (r - 1) + (r + 3) / (3 * (r - 1) ** 2)
    if kind is not HybridMean:
        return duchi if kind is DuchiMean else piecewise
    return duchi if epsilon <= 0.61 else (1 - 1 / r) * piecewise + duchi / r


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibration_never_exceeds_what_was_asked(kind, epsilon):
    channel = kind.of(epsilon=epsilon)
    assert isinstance(channel, MeanChannel)
    assert epsilon - 1e-9 < channel.epsilon <= channel.epsilon_upper <= epsilon


# -- the laws, enumerated ----------------------------------------------------------------------------------


@pytest.mark.parametrize("window", SMALL)
def test_every_word_of_a_window(window):
    words = np.arange(window.total, dtype=np.uint64) << np.uint64(11)
    assert worst_ratio(window.weights()) == window.worst_ratio
    for value in range(window.values):
        sent = window.randomize(np.full(window.total, value), ListedWords(words))
        assert np.bincount(sent, minlength=window.cells).tolist() == window.weights()[value].tolist()
    beyond = np.array([2**53 - 1, 0], dtype=np.uint64) << np.uint64(11)
    if 2**53 % window.total:
        assert window.randomize(np.array([0]), ListedWords(beyond)).tolist() == [0]


def test_the_enumeration_catches_a_window_that_is_too_narrow():
    window = SMALL[0]

    class Narrow(Window):
        def randomize(self, values, source):
            other = Window(cells=self.cells, width=self.width - 1, near=self.near, far=self.far)
            return other.randomize(values, source)

    with pytest.raises(AssertionError):
        test_every_word_of_a_window(Narrow(cells=window.cells, width=window.width, near=window.near, far=window.far))


@pytest.mark.parametrize("window", SMALL)
def test_piecewise_is_unbiased_with_the_variance_it_says(window):
    channel = PiecewiseMean(window=window)
    law = window.weights() / window.total
    each = np.array([channel.estimate(channel.tally(np.array([cell]))).mean for cell in range(window.cells)])
    grid = np.linspace(-1, 1, window.values)
    np.testing.assert_allclose(law @ each, grid, atol=1e-12)
    np.testing.assert_allclose(law @ each**2 - grid**2, channel.variance(grid), rtol=1e-10)
    middle = (grid[:-1] + grid[1:]) / 2
    mixed = (law[:-1] + law[1:]) / 2
    np.testing.assert_allclose(mixed @ each**2 - middle**2, channel.variance(middle), rtol=1e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_duchis_coin_is_exact_at_the_ends_and_never_beyond(epsilon):
    channel = DuchiMean.of(epsilon=epsilon)
    x = np.concatenate([[-1.0, 1.0, 0.0], np.random.default_rng(1).uniform(-1, 1, 1000), [np.nextafter(1, 0)]])
    heads = channel.thresholds(x)
    weights = np.stack([heads, 2**53 - heads], axis=1)
    assert worst_ratio(weights) == channel.worst_ratio == Fraction(int(heads[1]), int(heads[0]))
    np.testing.assert_allclose(channel.reach * (2 * (heads / 2**53) - 1), x, atol=1e-12 * channel.reach)


def test_the_coin_reads_its_threshold():
    channel = DuchiMean(least=2**51)
    for x, heads in ((-1.0, 2**51), (1.0, 3 * 2**51), (0.0, 2**52)):
        words = np.array([heads - 1, heads], dtype=np.uint64) << np.uint64(11)
        assert channel.randomize(np.array([x, x]), ListedWords(words)).tolist() == [1, 0]


@pytest.mark.parametrize("x", [-1.0, 0.3, 1.0])
def test_drawn_cells_follow_the_window(x):
    channel = PiecewiseMean(window=SMALL[0])
    sent = channel.randomize(np.full(200_000, x), SeededSource(3))
    place = (x + 1) / 2 * (channel.window.values - 1)
    low = min(int(place), channel.window.values - 2)
    law = channel.window.weights() / channel.window.total
    mixture = law[low] * (1 - (place - low)) + law[low + 1] * (place - low)
    assert chi_square_p(np.bincount(sent, minlength=9), mixture) > 1e-4


# -- variances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_variance_is_that_of_the_papers(kind, epsilon):
    x = np.array([-1.0, -0.4, 0.0, 0.7])
    np.testing.assert_allclose(kind.of(epsilon=epsilon).variance(x), theory(kind, epsilon, x), rtol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_simulated_variance_and_mean(kind, epsilon):
    values = np.clip(np.random.default_rng(1).normal(0.2, 0.3, 400_000), -1, 1)
    channel = kind.of(epsilon=epsilon)
    found = channel.estimate(channel.tally(channel.randomize(values, SeededSource(2))))
    noise = channel.variance(values).mean()
    assert abs(found.mean - values.mean()) < 4 * math.sqrt(noise / values.size)
    assert found.std**2 * values.size == pytest.approx(noise + values.var(), rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_in_the_units_of_the_data(kind):
    channel, source, rng = kind.of(epsilon=1.0, low=10.0, high=50.0), SeededSource(1), np.random.default_rng(1)
    inside = []
    for _ in range(1000):
        values = 10 + 40 * rng.beta(5, 2, 500)
        low, high = channel.estimate(channel.tally(channel.randomize(values, source))).interval()
        inside.append(low <= 10 + 40 * 5 / 7 <= high)
    assert 0.93 < np.mean(inside) < 0.97


@pytest.mark.parametrize("kind", KINDS)
def test_tallies_of_parts_add_up(kind):
    channel = kind.of(epsilon=2.0)
    sent = channel.randomize(np.linspace(-1, 1, 101), SeededSource(1))
    assert (channel.tally(sent[:40]) + channel.tally(sent[40:])).tolist() == channel.tally(sent).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_refused(kind):
    channel = kind.of(epsilon=1.0)
    for values in ([1.5], [math.nan], [[0.0]]):
        with pytest.raises(InvalidInput, match="values"):
            channel.randomize(np.array(values), SeededSource(1))
    for reports in ([-3], [70_000], [0.5]):
        with pytest.raises(InvalidInput, match="reports"):
            channel.tally(np.array(reports))
    with pytest.raises(InvalidInput, match="epsilon"):
        kind.of(epsilon=0.0)
    with pytest.raises(InvalidInput, match="low"):
        kind.of(epsilon=1.0, low=1.0, high=1.0)
    with pytest.raises(InvalidInput, match="counts"):
        channel.estimate([0, 0])
