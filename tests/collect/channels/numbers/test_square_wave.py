"""Square Wave: the law, EM and EMS, error on a known curve."""

import numpy as np
import pytest

from tacita.collect.channels.numbers.square_wave import SquareWave, half_width, wave_for
from tacita.collect.channels.numbers.window import Window
from tacita.collect.channels.parts.em import expectation_maximisation
from tacita.domain import Categorical, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import ChannelContract, LawContract


class WaveContract(LawContract):
    def test_is_a_channel(self):
        for channel in self._some():
            assert channel.levels + channel.window.width - 1 == channel.cells


class TestCalibrated(WaveContract):
    def channels(self):
        return [SquareWave.of(levels=d, epsilon=e) for d in (2, 10, 256) for e in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)]


class TestSmallTotals(WaveContract):
    def channels(self):
        return [
            SquareWave(window=Window(cells=9, width=3, near=5, far=2)),
            SquareWave(window=Window(cells=4, width=1, near=9, far=1)),
        ]


class OffByOne(SquareWave):
    """Sends the next cell."""

    def randomize(self, values, source):
        return (super().randomize(values, source) + 1) % self.cells


class TestShares(ChannelContract):
    """Unbiased shares and their covariance, by inversion of the window."""

    def channels(self):
        small = [SquareWave(window=Window(cells=9, width=3, near=5, far=2))]
        return small + [SquareWave.of(levels=d, epsilon=e) for d in (2, 5, 12) for e in (0.5, 1.0, 4.0)]


def test_too_many_bins_are_not_inverted():
    wave = SquareWave.of(levels=2000, epsilon=1.0)
    with pytest.raises(InvalidInput, match="at most"):
        wave.estimate(np.ones(wave.cells, dtype=int))


def test_a_wave_is_for_one_ordered_attribute():
    domain = Domain(
        attributes=(
            Numeric(name="age", bounds=(0, 100), bins=10),
            Ordinal(name="often", levels=("never", "sometimes", "daily")),
            Categorical(name="town", levels=("a", "b")),
            Numeric(name="income", bounds=(0, 100), bins=10, missing=True),
        )
    )
    assert wave_for(domain.project(("age",)), 1.0).levels == 10
    assert wave_for(domain.project(("often",)), 1.0).levels == 3
    for key in (("town",), ("age", "often"), ("income",)):
        with pytest.raises(InvalidInput):
            wave_for(domain.project(key), 1.0)


def test_the_contract_catches():
    contract = WaveContract()
    contract.channels = lambda: [OffByOne(window=Window(cells=9, width=3, near=5, far=2))]
    with pytest.raises(AssertionError):
        contract.test_every_position_is_sampled_by_its_weight()


@pytest.mark.parametrize(("epsilon", "expected"), [(1.0, 0.2561), (2.0, 0.1293), (1e-9, 0.5), (0.00101, 0.4997)])
def test_half_width(epsilon, expected):
    assert half_width(epsilon) == pytest.approx(expected, abs=1e-4)


def beta(levels, people, seed):
    values = np.random.default_rng(seed).beta(5, 2, people)
    return np.minimum((values * levels).astype(int), levels - 1)


def distance(found, bins):
    truth = np.bincount(bins, minlength=found.size) / bins.size
    return float(np.abs(np.cumsum(found - truth)).mean())


def test_the_curve_comes_back():
    channel, distances = SquareWave.of(levels=256, epsilon=1.0), {"em": [], "ems": []}
    for seed in range(6):
        bins = beta(256, 100_000, seed)
        tally = channel.tally(channel.randomize(bins, SeededSource(seed)))
        for method, found in distances.items():
            fitted = channel.distribution(tally, method=method)
            assert fitted.converged
            assert fitted.method == method
            assert fitted.frequencies.min() >= 0
            assert fitted.frequencies.sum() == pytest.approx(1)
            found.append(distance(fitted.frequencies, bins))
    assert np.mean(distances["ems"]) <= 0.006
    assert np.mean(distances["ems"]) < np.mean(distances["em"])


def test_em_finds_the_truth_from_expected_counts():
    matrix = np.array([[8, 1, 1], [1, 8, 1], [2, 2, 6]]) / 10
    truth = np.array([0.5, 0.3, 0.2])
    counts = np.rint(truth @ matrix * 10**9).astype(int)
    fitted = expectation_maximisation(matrix, counts, tolerance=1e-15)
    np.testing.assert_allclose(fitted.frequencies, truth, atol=1e-5)


def test_em_does_not_freeze_what_was_never_reported():
    # a start at the observed shares would leave the middle value at 0 for ever
    matrix = np.array([[1, 0, 0], [0.4, 0.2, 0.4], [0, 0, 1.0]])
    fitted = expectation_maximisation(matrix, [10, 0, 10])
    assert fitted.frequencies.sum() == pytest.approx(1)
    assert np.isfinite(fitted.log_likelihood)


def test_bad_input_is_refused():
    channel = SquareWave.of(levels=10, epsilon=1.0)
    with pytest.raises(InvalidInput, match="method"):
        channel.distribution(np.ones(channel.cells, dtype=int), method="mle")
    with pytest.raises(InvalidInput, match="counts"):
        channel.distribution(np.zeros(channel.cells, dtype=int))
    with pytest.raises(InvalidInput, match="reports"):
        channel.tally(np.array([channel.cells]))
    for levels, epsilon in ((1, 1.0), (10, 0.0)):
        with pytest.raises(InvalidInput):
            SquareWave.of(levels=levels, epsilon=epsilon)
