"""Changes between waves: unbiased, with intervals that cover, also where the same people answer with other answers."""

from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.analysis.changes import _common, find_changes
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Boolean(name="ill"), Boolean(name="old", missing=True)])
TABLES = Workload.of(("ill", "old"))


def plan(waves=4, turns=1, epsilon=2.0, respondents=4000):
    return plan_collection(
        DOMAIN, TABLES, respondents=respondents, epsilon=epsilon, mode="tables", waves=waves, turns=turns
    )


def tally(design, codes, seed):
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed))


def draw(rng, count, share):
    old = rng.random(count) < 0.4
    return {"ill": (rng.random(count) < np.where(old, share + 0.2, share)).astype(int), "old": old.astype(int)}


def test_a_change_is_the_difference_with_both_errors():
    design, rng = plan(), np.random.default_rng(1)
    before, after = tally(design, draw(rng, 3000, 0.2), 2), tally(design, draw(rng, 3000, 0.5), 3)
    found = {(each.attributes, each.levels): each for each in find_changes(before, after)}
    assert len(found) == 2 + 3 + 6  # two single attributes and their table
    ill = found[("ill",), ("true",)]
    assert ill.change == pytest.approx(ill.after - ill.before)
    assert ill.low < 0.3 < ill.high
    assert ill.adjusted == pytest.approx(11 * ill.p_value)
    assert ill.adjusted < 1e-3
    assert found[("old",), ("true",)].adjusted > 0.05
    wide = find_changes(before, after, level=0.99)[0]
    assert wide.high - wide.low > ill.high - ill.low
    assert [each.attributes for each in find_changes(before, after, by=[("old",)])] == [("old",)] * 3


def test_waves_of_other_series_are_not_compared():
    one, rng = plan(), np.random.default_rng(1)
    first = tally(one, draw(rng, 500, 0.2), 2)
    for other in (plan(epsilon=1.0), replace(one, waves=1, turns=1)):
        with pytest.raises(InvalidInput, match="since"):
            find_changes(
                tally(other, draw(rng, 500, 0.2), 3), first if other.waves > 1 else tally(other, draw(rng, 500, 0.2), 4)
            )
    with pytest.raises(InvalidInput, match="by"):
        find_changes(first, first, by=[("young",)])
    with pytest.raises(InvalidInput, match="level"):
        find_changes(first, first, level=1.0)


def coverage(turns, switch, runs=150):
    """How often 95 % intervals of all changes hold; everybody who may answer twice does so.

    Args:
        switch: The probability that a person gives the other answer in the second wave.
    """
    design, held = plan(turns=turns, epsilon=4.0 * turns), []
    for run in range(runs):
        rng = np.random.default_rng(10_000 * turns + run)
        first = draw(rng, 1200, 0.3)
        moved = rng.random(1200) < switch
        second = first | {"ill": np.where(moved, 1 - first["ill"], first["ill"])}
        if turns == 1:  # half of the panel each
            first = {name: codes[:600] for name, codes in first.items()}
            second = {name: codes[600:] for name, codes in second.items()}
        found = find_changes(tally(design, first, 2 * run), tally(design, second, 2 * run + 1), by=[("ill",)])
        level = 0.6 * 0.3 + 0.4 * 0.5
        truth = level * (1 - switch) + (1 - level) * switch - level
        held.append(found[1].low <= truth <= found[1].high)
    return float(np.mean(held))


@pytest.mark.parametrize(("turns", "switch"), [(1, 0.1), (2, 0.0), (2, 1.0)])
def test_intervals_cover(turns, switch):
    """With two turns, where all answers stay, and where all change: then errors of both waves add up in full."""
    assert coverage(turns, switch) >= 0.91


def test_without_the_covariance_intervals_would_be_short(monkeypatch):
    """Fails as it should: variances that only add up, where everybody who answers twice changes the answer."""
    monkeypatch.setattr("tacita.collect.analysis.changes._common", lambda _design: 0.0)
    assert coverage(2, 1.0) < 0.91


@pytest.mark.parametrize("turns", [1, 2])
def test_means_change_too(turns):
    domain = Domain(attributes=[Numeric(name="age", bounds=(0, 100), bins=10)])
    tables = Workload.of(("age",))
    design = plan_collection(domain, tables, respondents=4000, epsilon=2.0, channel="mixed", waves=2, turns=turns)
    rng = np.random.default_rng(3)
    young, old = ({"age": rng.integers(low, low + 5, 2000)} for low in (0, 5))
    (found,) = find_changes(tally(design, young, 1), tally(design, old, 2))
    assert (found.attributes, found.levels) == (("age",), ())
    assert found.low < 50 < found.high
    assert found.p_value < 0.05
    with pytest.raises(InvalidInput, match="only means"):
        find_changes(tally(design, young, 1), tally(design, old, 2), by=[("age",)])


@pytest.mark.parametrize("channel", ["rr", "unary", "hash", "subset", "hadamard", "duchi", "hybrid"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_no_channel_has_less_noise_beside_its_people_than_is_assumed(channel, epsilon):
    """The exact share of the variance that is due to people, for shares and means of five levels."""
    domain = Domain(attributes=[Numeric(name="age", bounds=(0, 10), bins=5)])
    tables = Workload.of(("age",))
    design = plan_collection(
        domain, tables, respondents=1000, epsilon=2 * epsilon, channel=channel, mode="tables", waves=2, turns=2
    )
    worst = 0.0
    for shares in ([0.5, 0, 0, 0, 0.5], [0.2] * 5, [0.9, 0.1, 0, 0, 0]):
        for asked in design.questions:
            law = np.array(shares)
            if asked.asks_mean:
                points = np.linspace(0, 1, 5)
                whole, people = asked.channel.variance(law), float(law @ points**2 - (law @ points) ** 2)
                worst = max(worst, people / whole)
                continue
            whole = asked.oracle.covariance(law, respondents=1, about="population").variance()
            people = law * (1 - law)
            worst = max(worst, float(np.max(people / whole)))
    assert worst <= _common(design)
