"""Fourier marginals: the loss by enumeration of all records, the transform, no bias, stated errors, coverage."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.protocols.fourier import FourierDesign, FourierReports, FourierTally
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource


def bits(d):
    return Domain(attributes=[Boolean(name=f"x{i}") for i in range(d)])


def people(d, count, seed):
    """Two kinds of people with different chances for each attribute: all pairs depend on each other."""
    rng = np.random.default_rng(seed)
    kind = rng.random(count) < 0.4
    return {f"x{i}": (rng.random(count) < np.where(kind, 0.8 - 0.02 * i, 0.2 + 0.03 * i)).astype(int) for i in range(d)}


def truth(d, names):
    """The exact shares behind `people`."""
    table = 0
    for weight, chance in ((0.4, lambda i: 0.8 - 0.02 * i), (0.6, lambda i: 0.2 + 0.03 * i)):
        parts = [np.array([1 - chance(int(n[1:])), chance(int(n[1:]))]) for n in names]
        table = table + weight * np.einsum(",".join("abc"[: len(parts)]), *parts)
    return table


def law(design):
    """P(set, bit | record): a row for each record of all attributes, from the integers of the channel and the lot."""
    inner = design.channel.matrix()
    rows = []
    for record in itertools.product(range(2), repeat=len(design.domain)):
        values = dict(zip(design.domain.names, record, strict=True))
        odd = [sum(values[name] for name in key) % 2 for key in design.sets]
        rows.append(np.concatenate([share * inner[o] for share, o in zip(design.shares, odd, strict=True)]))
    return np.array(rows)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(("order", "epsilon"), [(1, 0.5), (2, 1.1), (3, 4.0)])
def test_loss_over_all_records_is_that_of_one_bit(order, epsilon, even):
    design = FourierDesign(domain=bits(4), order=order, epsilon=epsilon, even=even)
    every = law(design)
    np.testing.assert_allclose(every.sum(axis=1), 1)
    worst = np.log(every.max(axis=0) / every.min(axis=0)).max()
    assert worst == pytest.approx(design.channel.epsilon, abs=1e-9)
    assert design.channel.epsilon_upper <= epsilon


def misfit(design, record, count=60_000):
    """Chi-square of the reports of many people with one record against the law, in its standard deviations."""
    codes = {f"x{i}": np.full(count, value) for i, value in enumerate(record)}
    tally = FourierTally(design).add(design.respond(codes, SeededSource(1), seed=2))
    place = list(itertools.product(range(2), repeat=3)).index(record)
    expected = law(design)[place].reshape(-1, 2) * count
    freedom = expected.size - 1
    return (((tally.counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("record", [(0, 0, 0), (1, 0, 1), (1, 1, 1)])
def test_reports_follow_the_law(record):
    assert misfit(FourierDesign(domain=bits(3), order=2, epsilon=1.0), record) < 5


class PlainParity(FourierDesign):
    """Sends the parity as it is for single attributes."""

    def respond(self, codes, source, *, seed):
        sent = super().respond(codes, source, seed=seed)
        truth = np.array([sum(int(codes[name][0]) for name in key) % 2 for key in self.sets])
        return replace(sent, bits=np.where(sent.sets < 3, truth[sent.sets], sent.bits))


class ChosenSet(FourierDesign):
    """Gives a set away: who has a parity of 1 is never asked about the last set."""

    def respond(self, codes, source, *, seed):
        sent = super().respond(codes, source, seed=seed)
        odd = (codes["x1"] + codes["x2"]) % 2 == 1
        return replace(sent, sets=np.where(odd & (sent.sets == 5), 4, sent.sets))


@pytest.mark.parametrize("broken", [PlainParity, ChosenSet])
def test_the_law_catches(broken):
    assert misfit(broken(domain=bits(3), order=2, epsilon=1.0), (1, 0, 1)) > 20


def test_who_has_no_place_answers_by_a_fair_coin():
    design, count = FourierDesign(domain=bits(2), order=2, epsilon=3.0), 60_000
    codes = {"x0": np.full(count, 2), "x1": np.zeros(count, dtype=int)}
    tally = FourierTally(design).add(design.respond(codes, SeededSource(1), seed=2))
    assert tally.respondents == count
    share = tally.counts[:, 1] / tally.counts.sum(axis=1)
    assert share[0] == pytest.approx(0.5, abs=0.02)
    assert share[2] == pytest.approx(0.5, abs=0.02)
    assert share[1] < 0.1


def test_the_transform_is_exact():
    """Without noise to speak of, and every set asked of everybody: the tables are those of the people."""
    design = FourierDesign(domain=bits(4), order=3, epsilon=30.0)
    codes = people(4, 500, 1)
    tally = FourierTally(design)
    for number, key in enumerate(design.sets):
        odd = sum(codes[name] for name in key) % 2
        tally.add(FourierReports(sets=np.full(500, number), bits=odd, simulated=True))
    for names in (["x2"], ["x3", "x1"], ["x0", "x2", "x3"]):
        table = np.zeros((2,) * len(names))
        np.add.at(table, tuple(codes[name] for name in names), 1 / 500)
        np.testing.assert_allclose(tally.table(names).values, table, atol=1e-9)
    wide = tally.table(["x0", "x1", "x2"])
    np.testing.assert_allclose(wide.project(["x2", "x0"]).values, tally.table(["x2", "x0"]).values, atol=1e-12)
    np.testing.assert_allclose(wide.project(["x2", "x0"]).std(), tally.table(["x2", "x0"]).std(), atol=1e-12)


@pytest.mark.parametrize("even", [True, False])
def test_no_bias_stated_errors_and_coverage(even):
    design = FourierDesign(domain=bits(5), order=2, epsilon=1.1, even=even)
    keys = list(itertools.combinations(design.domain.names, 2))
    misses, stated, covered = [], [], []
    for seed in range(150):
        codes = people(5, 3000, seed)
        tally = FourierTally(design).add(design.respond(codes, SeededSource(seed), seed=5000 + seed))
        for key in keys:
            release, exact = tally.table(key), truth(5, key)
            low, high = release.interval(0.95)
            misses.append(release.values - exact)
            stated.append(release.std())
            covered.append((low <= exact) & (exact <= high))
    z = np.array(misses) / np.array(stated)
    assert 0.9 < np.mean(z**2) < 1.1
    assert 0.93 < np.mean(covered) < 0.97
    means = np.array(misses).reshape(150, len(keys), 2, 2).mean(axis=0)
    assert np.abs(means).max() < 5 * np.mean(stated) / math.sqrt(150)


def test_small_sets_are_asked_more_and_it_helps():
    """The predicted sum of the variances of all pair tables: 2417 against 3024 of the published lot."""
    totals = {}
    for even in (True, False):
        design = FourierDesign(domain=bits(8), order=2, epsilon=1.0, even=even)
        uses = [7 if len(key) == 1 else 1 for key in design.sets]
        totals[even] = sum(use / share for use, share in zip(uses, design.shares, strict=True))
        assert design.shares.sum() == pytest.approx(1)
    assert totals[True] == pytest.approx(36 * 84)
    assert totals[False] == pytest.approx((8 * math.sqrt(7) + 28) ** 2)
    assert totals[False] < totals[True]


def test_published_tables_are_distributions_and_nearer():
    design = FourierDesign(domain=bits(6), order=2, epsilon=0.3)
    tally = FourierTally(design).add(design.respond(people(6, 2000, 1), SeededSource(1), seed=2))
    misses = []
    for key in itertools.combinations(design.domain.names, 2):
        published, raw, exact = tally.published(key), tally.table(key), truth(6, key)
        assert (published.values >= 0).all()
        assert published.sum() == pytest.approx(1)
        misses.append([np.abs(published.values - exact).sum(), np.abs(raw.values - exact).sum()])
    assert np.mean(misses, axis=0)[0] < np.mean(misses, axis=0)[1]


def test_tallies_of_parts_add_up():
    design = FourierDesign(domain=bits(4), order=2, epsilon=1.0)
    reports = design.respond(people(4, 2000, 1), SeededSource(1), seed=2)
    parts = [
        FourierTally(design).add(FourierReports(sets=reports.sets[s], bits=reports.bits[s], simulated=True))
        for s in (slice(0, 700), slice(700, 2000))
    ]
    whole = FourierTally(design).add(reports)
    assert (parts[0].merge(parts[1]).counts == whole.counts).all()
    assert whole.simulated
    assert whole.table(["x0"]).provenance.simulated


def test_refusals():
    design = FourierDesign(domain=bits(4), order=2, epsilon=1.0)
    three = Domain(attributes=[Boolean(name="x0"), Categorical(name="y", levels=["a", "b", "c"])])
    with pytest.raises(InvalidInput, match="two levels"):
        FourierDesign(domain=three, order=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match="order"):
        FourierDesign(domain=bits(4), order=5, epsilon=1.0)
    with pytest.raises(InvalidInput, match="coefficients"):
        FourierDesign(domain=bits(40), order=20, epsilon=1.0)
    with pytest.raises(InvalidInput, match="no one was asked"):
        FourierTally(design).table(["x0"])
    with pytest.raises(InvalidInput, match="attributes"):
        FourierTally(design).table(["x0", "x1", "x2"])
    with pytest.raises(InvalidInput, match="reports"):
        FourierTally(design).add(FourierReports(sets=np.array([10]), bits=np.array([0]), simulated=True))
    with pytest.raises(InvalidInput, match="same design"):
        FourierTally(design).merge(FourierTally(FourierDesign(domain=bits(4), order=1, epsilon=1.0)))
