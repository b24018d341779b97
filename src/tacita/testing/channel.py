"""Contract of a channel: its stated properties hold.

    class TestMyChannel(ChannelContract):
        def channels(self):
            return [MyChannel(...), ...]

Every number is compared with one that is computed another way: the loss with the enumerated integer weights,
the estimator with the exact distribution, the covariance with all outcomes of a small collection, the sampler with
every word it can read.

`LawContract` is the half about the distribution: the matrix is that of the sampler, and the stated loss that of the
matrix. Channels whose estimate is biased (hashing by a real mixer) pass that half and test the other one by their own
means.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from tacita.collect.channels.protocol import About, Channel, EnumerableChannel
from tacita.noise.source import SeededSource

__all__ = [
    "ChannelContract",
    "LawContract",
    "ListedCalls",
    "ListedWords",
    "PackedBits",
    "chi_square_p",
    "coverage",
    "error_over_theory",
    "worst_ratio",
    "zipf",
]

_SAMPLES = 10**6
_LEAST_P = 1e-4
_MOST_OUTCOMES = 2_000
_MOST_POSITIONS = 10**5


class ListedWords:
    """A source that returns the listed words in order and then fails: for enumeration only."""

    simulated = True

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._left = words

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next listed words, fewer at the end."""
        assert self._left.size, "the sampler asked for more words than the law needs"
        given, self._left = self._left[:count], self._left[count:]
        return given


class ListedCalls:
    """A source that answers its calls with the listed arrays in order, each filled up with zeros: for enumeration."""

    simulated = True

    def __init__(self, calls: Iterable[Sequence[int]]) -> None:
        self._calls = iter(calls)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next listed array, padded with zeros."""
        listed = next(self._calls)
        assert len(listed) <= count, "the sampler asked for fewer words than the law needs"
        return np.array([*listed, *[0] * (count - len(listed))], dtype=np.uint64)


class LawContract:
    """Tests of the distribution of a channel: its stated properties and its sampler."""

    seed = 20_260_101
    one_word = True  # whether an answer reads one word of 53 bits; if not, override `cases`

    def channels(self) -> Sequence[EnumerableChannel]:
        """Return the channels under test, small and large; those with a small total are enumerated word by word."""
        raise NotImplementedError

    def columns(self, channel: EnumerableChannel, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the column of the matrix for each report; override when reports are not codes."""
        return np.asarray(reports, dtype=np.int64)

    def reports(self, channel: EnumerableChannel) -> NDArray[Any]:
        """Return one report for each column of the matrix; override when reports are not codes."""
        return np.arange(channel.weights().shape[1])

    def cases(self, channel: EnumerableChannel) -> Iterable[Sequence[Sequence[int]]]:
        """Return all equally likely words that make one answer: an array for each call of the source."""
        return ()

    # -- stated properties -----------------------------------------------------------------------------

    def test_is_a_channel(self) -> None:
        for channel in self._some():
            assert isinstance(channel, EnumerableChannel), channel

    def test_rows_of_the_matrix_are_the_weights_and_sum_to_one(self) -> None:
        for channel in self._some():
            weights, matrix = channel.weights(), channel.matrix()
            assert matrix.shape[0] == channel.levels == weights.shape[0], channel
            assert (weights.sum(axis=1) == channel.total).all(), channel
            np.testing.assert_allclose(
                matrix, (weights / channel.total).astype(float), rtol=1e-14, err_msg=repr(channel)
            )
            np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12, err_msg=repr(channel))

    def test_epsilon_is_the_largest_ratio_of_the_weights(self) -> None:
        for channel in self._some():
            ratio = worst_ratio(channel.weights())
            exact = math.log1p(float(ratio - 1))
            assert math.isclose(channel.epsilon, exact, rel_tol=1e-12), (channel, channel.epsilon, exact)
            above = math.nextafter(channel.epsilon, math.inf)
            assert channel.epsilon <= channel.epsilon_upper <= above, channel

    # -- sampler ---------------------------------------------------------------------------------------

    def test_sampled_answers_follow_the_matrix(self) -> None:
        # for a whole class of channels too: a right one fails in fewer than one of 1,000 seeds
        limit = min(_LEAST_P, 1e-3 / (3 * max(len(self.channels()), 1)))
        for number, channel in enumerate(self._some()):
            inputs = _few(channel.levels)
            for x in inputs:
                source = SeededSource(self.seed + 1000 * number + x)
                sent = channel.randomize(np.full(_SAMPLES // len(inputs), x), source)
                counts = np.bincount(self.columns(channel, sent), minlength=channel.weights().shape[1])
                p = chi_square_p(counts, channel.matrix()[x])
                assert p > limit, f"{channel!r} does not follow its matrix for {x}: p = {p:.2g}"

    def test_every_position_is_sampled_by_its_weight(self) -> None:
        for channel in self._some():
            if not self.one_word:
                self._check_cases(channel)
                continue
            if channel.total > _MOST_POSITIONS:
                continue
            words = np.arange(channel.total, dtype=np.uint64) << np.uint64(11)
            for x in range(channel.levels):
                sent = channel.randomize(np.full(channel.total, x), ListedWords(words))
                counts = np.bincount(self.columns(channel, sent), minlength=channel.weights().shape[1])
                assert counts.tolist() == channel.weights()[x].tolist(), (channel, x)

    def _check_cases(self, channel: EnumerableChannel) -> None:
        cases = list(self.cases(channel))
        if not cases:
            return
        for x in range(channel.levels):
            sent = [channel.randomize(np.array([x]), ListedCalls(case)) for case in cases]
            counts = np.bincount(
                self.columns(channel, np.concatenate(sent)), minlength=channel.weights().shape[1]
            ).tolist()
            wanted = [weight * len(cases) for weight in channel.weights()[x]]
            assert [count * channel.total for count in counts] == wanted, (channel, x)

    def test_words_beyond_the_last_whole_round_are_passed_over(self) -> None:
        for channel in self._some():
            if not self.one_word or not (beyond := 2**53 % channel.total):
                continue
            edge = 2**53 - beyond
            raw = np.array([edge, 2**53 - 1, edge - 1], dtype=np.uint64) << np.uint64(11)
            plain = channel.randomize(np.array([0]), ListedWords(raw[2:]))
            passed = channel.randomize(np.array([0]), ListedWords(raw))
            assert plain.tolist() == passed.tolist(), channel

    def _some(self) -> Iterator[EnumerableChannel]:
        channels = self.channels()
        assert channels, "a contract without channels proves nothing"
        yield from channels


class ChannelContract(LawContract):
    """Tests that every channel must pass; a subclass named Test... lists the channels."""

    def test_estimator_is_unbiased(self) -> None:
        # With total respondents who all hold x, the expected counts are the integer weights: no rounding
        # hides a bias.
        for channel in self._some():
            tallies = self._tallies(channel)
            for x in _few(channel.levels):
                truth = np.eye(channel.levels)[x]
                if channel.total <= 2**53:
                    frequencies = channel.estimate((channel.weights()[x] @ tallies).astype(np.int64)).frequencies
                else:  # the mean over all reports, because the estimate of many is the mean of their estimates
                    each = np.stack([channel.estimate(tally).frequencies for tally in tallies])
                    frequencies = channel.matrix()[x] @ each
                np.testing.assert_allclose(frequencies, truth, atol=1e-9, err_msg=repr(channel))

    def test_estimator_is_affine_in_the_shares(self) -> None:
        # Together with the test above: unbiased for every population, not only for pure ones.
        for channel in self._some():
            tallies = self._tallies(channel)
            draw = np.random.default_rng(self.seed).integers(1, 1000, size=(2, len(tallies)))
            # both of one size: an estimate of pooled counts is then the mean of the estimates
            first, second = draw[0] * draw[1].sum(), draw[1] * draw[0].sum()
            parts = [channel.estimate(row @ tallies).frequencies for row in (first, second)]
            pooled = channel.estimate((first + second) @ tallies).frequencies
            np.testing.assert_allclose(pooled, (parts[0] + parts[1]) / 2, rtol=1e-7, atol=1e-9)

    def test_covariance_is_that_of_all_outcomes(self) -> None:
        for channel in self._some():
            n = _people(channel)
            if n < 1:
                continue
            held = [x % channel.levels for x in range(n)]
            held[-1] = 0
            for about in ("population", "respondents"):
                self._check_covariance(channel, held, about)

    def _check_covariance(self, channel: EnumerableChannel, held: list[int], about: About) -> None:
        pi = np.bincount(held, minlength=channel.levels) / len(held)
        matrix = channel.matrix()
        rows = matrix[held] if about == "respondents" else np.tile(pi @ matrix, (len(held), 1))
        mean, second = self._moments(channel, rows)
        stated = channel.covariance(pi, respondents=len(held), about=about)
        spread = float(np.abs(second).max())
        close: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-8 * spread, "err_msg": f"{channel!r}, {about}"}
        np.testing.assert_allclose(mean, pi, atol=1e-9 * max(math.sqrt(spread), 1.0), err_msg=repr(channel))
        np.testing.assert_allclose(stated.dense(), second, **close)
        np.testing.assert_allclose(stated.variance(), np.diag(second), **close)

    def _moments(
        self, channel: EnumerableChannel, rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute mean and covariance of the estimate over all outcomes of independent answers with laws `rows`."""
        tallies = self._tallies(channel)
        chances, estimates = [], []
        for outcome in itertools.product(range(rows.shape[1]), repeat=len(rows)):
            chances.append(math.prod(rows[i, y] for i, y in enumerate(outcome)))
            estimates.append(channel.estimate(tallies[list(outcome)].sum(axis=0)).frequencies)
        weight, values = np.array(chances), np.array(estimates)
        mean = weight @ values
        return mean, (values - mean).T @ ((values - mean) * weight[:, None])

    def _tallies(self, channel: EnumerableChannel) -> NDArray[np.int64]:
        """Return the tally of each single report, one row for each column of the matrix."""
        return np.stack([channel.tally(report) for report in self.reports(channel)[:, None]])


class PackedBits:
    """For contracts of channels whose reports are packed bits and whose column j is the report with the bits of j."""

    def columns(self, channel: EnumerableChannel, reports: NDArray[Any]) -> NDArray[np.int64]:
        bits = np.unpackbits(reports, axis=1, bitorder="little", count=channel.levels)
        return bits.astype(np.int64) @ (1 << np.arange(channel.levels))

    def reports(self, channel: EnumerableChannel) -> NDArray[Any]:
        bits = np.arange(2**channel.levels)[:, None] >> np.arange(channel.levels) & 1
        return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")


def worst_ratio(weights: NDArray[Any]) -> Fraction:
    """Compute exactly the largest ratio between two inputs of the weight of one report."""
    assert (weights > 0).all(), "a report that some value never gives has an infinite loss"
    return max(
        Fraction(int(high), int(low)) for high, low in zip(weights.max(axis=0), weights.min(axis=0), strict=True)
    )


def _few(levels: int) -> list[int]:
    return sorted({0, levels // 2, levels - 1})


def _people(channel: EnumerableChannel) -> int:
    """Return the number of respondents that can be enumerated: their joint reports are at most `_MOST_OUTCOMES`."""
    return min(int(math.log(_MOST_OUTCOMES) / math.log(channel.weights().shape[1])), 5)


def chi_square_p(counts: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """Compute the p-value of counts under a distribution.

    The chi-square approximation holds where at least 5 are expected. Cells with fewer are merged into one cell; if even
    that has fewer, its count is tested against its binomial law, and the smaller of both p-values is doubled. Otherwise
    one draw where a hundredth was expected would look impossible, although it happens every hundredth time. A draw in a
    cell of probability 0 has the p-value 0.
    """
    if counts[law == 0].any():
        return 0.0
    total = int(counts.sum())
    rare = law * total < 5
    seen, shares = counts[~rare], law[~rare]
    few, share = int(counts[rare].sum()), float(law[rare].sum())
    if share * total >= 5:
        seen, shares, few, share = np.append(seen, few), np.append(shares, share), 0, 0.0
    wanted = shares / max(float(shares.sum()), 1e-300) * seen.sum()
    usual = (
        float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), seen.size - 1)) if seen.size > 1 and seen.any() else 1.0
    )
    if not 0 < share < 1:
        return usual
    tails = binom.sf(few - 1, total, share), binom.cdf(few, total, share)
    return min(1.0, 2 * min(usual, 1.0, *(2 * float(tail) for tail in tails)))


def zipf(levels: int, power: float = 1.1) -> NDArray[np.float64]:
    """Return shares proportional to 1 / rank**power."""
    shares = 1 / np.arange(1, levels + 1) ** power
    return np.asarray(shares / shares.sum())


def error_over_theory(channel: Channel, *, people: int, runs: int, seed: int = 1) -> float:
    """Compute the mean squared error about the respondents over the predicted variance, over all cells and runs."""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    found, predicted = 0.0, 0.0
    for _ in range(runs):
        values = rng.choice(channel.levels, people, p=zipf(channel.levels))
        truth = np.bincount(values, minlength=channel.levels) / people
        estimate = channel.estimate(channel.tally(channel.randomize(values, source)), about="respondents")
        found += float(((estimate.frequencies - truth) ** 2).mean())
        predicted += float(channel.covariance(truth, respondents=people, about="respondents").variance().mean())
    return found / predicted


def coverage(channel: Channel, *, people: int, runs: int, about: About, seed: int = 1) -> float:
    """Compute the share of 95 % intervals that hold the truth, over all cells and runs."""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    pi, inside = zipf(channel.levels), []
    for _ in range(runs):
        values = rng.choice(channel.levels, people, p=pi)
        truth = pi if about == "population" else np.bincount(values, minlength=channel.levels) / people
        tally = channel.tally(channel.randomize(values, source))
        inside.append(channel.estimate(tally, about=about).interval(0.95).covers(truth).mean())
    return float(np.mean(inside))
