"""Sample sizes against brute force over tables; coverage when stopping, and what repeated looks do without a budget."""

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.collect.planning.sizing import plan_stop
from tacita.collect.planning.stopping import StopRule, respondents_needed
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput

CHANNELS = [
    RandomizedResponse.k_ary(levels=3, epsilon=1.0),
    RandomizedResponse.k_ary(levels=3, epsilon=6.0),
    RandomizedResponse(keep=2, fake=(1, 2, 5)),
    UnaryEncoding.optimised(levels=3, epsilon=1.0),
    UnaryEncoding.symmetric(levels=3, epsilon=3.0),
    HadamardResponse.of(levels=3, epsilon=1.0),
    geometric_channel(levels=3, epsilon=2.0),
]


def simplex(steps):
    for a in range(steps + 1):
        for b in range(steps + 1 - a):
            yield np.array([a, b, steps - a - b]) / steps


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: type(c).__name__)
def test_the_worst_case_is_that_of_all_tables(channel):
    worst = max(channel.covariance(table, respondents=1).variance().max() for table in simplex(40))
    assert respondents_needed(channel, 0.01) == pytest.approx(1.959964**2 * worst / 0.01**2, rel=2e-3)


def test_the_formula_of_randomized_response():
    channel, share = RandomizedResponse.k_ary(levels=18, epsilon=2.9), 0.072
    p = channel.keep_probability
    r = p * share + (1 - p) / 18
    assert respondents_needed(channel, 0.02, share=share) == np.ceil(1.959964**2 * r * (1 - r) / (p * 0.02) ** 2)
    assert respondents_needed(channel, 0.02, share=share, simultaneous=True) > respondents_needed(
        channel, 0.02, share=share
    )


def make_design(channel):
    domain = Domain(attributes=[Categorical(name="a", levels=[f"l{i}" for i in range(channel.levels)])])
    asked = (Asked(attributes=("a",), channel=channel, share=1.0),)
    return CollectionDesign(
        domain=domain, questions=asked, epsilon=channel.epsilon_upper, respondents=1000, mode="singles"
    )


def release(design, counts):
    return Tally.counted(design, {0: counts}, simulated=True).releases()[("a",)]


def covers(found, level, truth):
    low, high = found.interval(level)
    return bool(((low <= truth) & (truth <= high)).all())


def test_coverage_holds_at_the_stopping_time_and_for_all_looks():
    channel = RandomizedResponse.k_ary(levels=4, epsilon=2.0)
    design, truth = make_design(channel), np.array([0.55, 0.3, 0.1, 0.05])
    law, rng = truth @ channel.matrix(), np.random.default_rng(3)
    rule, first, trials, looks = StopRule(half_width=0.04, level=0.9), 250, 400, 6
    at_stop = at_all = naive = 0
    for _ in range(trials):
        counts, stopped, all_good, all_naive = np.zeros(4, np.int64), False, True, True
        for number in range(1, looks + 1):
            counts = counts + rng.multinomial(first if number == 1 else counts.sum(), law)
            found = release(design, counts)
            advice = rule.look(found, number)
            good = covers(found, advice.level_used, truth)
            all_good &= good
            all_naive &= covers(found, 0.9, truth)
            if advice.stop and not stopped:
                stopped = True
                at_stop += good
        assert stopped
        at_all += all_good
        naive += all_naive
    slack = 3 * np.sqrt(0.9 * 0.1 / trials)
    assert at_stop / trials > 0.9 - slack
    assert at_all / trials > 0.9 - slack
    # whoever looks again and again at the fixed level is wrong at some look far more often than it says
    assert naive / trials < 0.9 - 5 * slack


def test_stopping_when_a_finding_appears_needs_the_budget():
    """The decision that repeated looks spoil: stop as soon as the interval excludes the true share."""
    channel = RandomizedResponse.k_ary(levels=2, epsilon=2.0)
    design, truth = make_design(channel), np.array([0.5, 0.5])
    law, rng = truth @ channel.matrix(), np.random.default_rng(8)
    rule, trials, false, naive = StopRule(half_width=0.001, simultaneous=False), 300, 0, 0
    for _ in range(trials):
        counts, wrong, wrong_naive = np.zeros(2, np.int64), False, False
        for number in range(1, 11):
            counts = counts + rng.multinomial(200 if number == 1 else counts.sum(), law)
            found = release(design, counts)
            wrong |= not covers(found, rule.level_at(number, 2), truth)
            wrong_naive |= not covers(found, 0.95, truth)
        false += wrong
        naive += wrong_naive
    slack = 3 * np.sqrt(0.05 * 0.95 / trials)
    assert false / trials < 0.05 + slack
    assert naive / trials > 0.05 + 2 * slack


def test_the_advice_leads_to_the_end():
    channel = UnaryEncoding.optimised(levels=5, epsilon=1.0)
    design, rule = make_design(channel), StopRule(half_width=0.05)
    law = channel.support_law
    shares = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    support = float(law.miss) + float(law.slope) * shares

    def expected(n):
        return np.append(np.round(n * support), n).astype(np.int64)

    seen = 2000
    first = rule.look(release(design, expected(seen)), 1)
    assert not first.stop
    assert first.cell == (0,)
    doublings = (first.more_respondents // seen).bit_length()
    assert first.more_respondents == seen * (2**doublings - 1)
    last = rule.look(release(design, expected(seen + first.more_respondents)), 1 + doublings)
    assert last.stop
    assert last.more_respondents == 0
    assert last.widest <= 0.05 < first.widest
    if doublings > 1:
        before = rule.look(release(design, expected(seen * 2 ** (doublings - 1))), doublings)
        assert not before.stop


def test_coverage_holds_at_the_stopping_time_with_planned_looks():
    """Looks planned around the number that the rule takes: all intervals of all looks hold together."""
    channel = RandomizedResponse.k_ary(levels=4, epsilon=2.0)
    design, truth = make_design(channel), np.array([0.55, 0.3, 0.1, 0.05])
    law, rng = truth @ channel.matrix(), np.random.default_rng(11)
    rule = plan_stop(design, StopRule(half_width=0.06, level=0.9))
    trials, at_stop, at_all, stops = 400, 0, 0, []
    for _ in range(trials):
        counts, stopped, all_good = np.zeros(4, np.int64), 0, True
        for number in range(1, 9):
            counts = counts + rng.multinomial(rule.size_of(number) - counts.sum(), law)
            found = release(design, counts)
            advice = rule.look(found, number)
            good = covers(found, advice.level_used, truth)
            all_good &= good
            if advice.stop and not stopped:
                stopped = rule.size_of(number)
                at_stop += good
        stops.append(stopped / rule.planned)
        at_all += all_good
    assert 0.5 <= min(stops) <= max(stops) <= 1.5
    slack = 3 * np.sqrt(0.9 * 0.1 / trials)
    assert at_stop / trials > 0.9 - slack
    assert at_all / trials > 0.9 - slack


def test_planned_looks_spend_the_error_once_and_mostly_where_the_end_is_planned():
    rule = StopRule(half_width=0.1, level=0.9, planned=1000)
    assert sum(7 * (1 - rule.level_at(j, 7)) for j in range(1, 3000)) == pytest.approx(0.1, abs=1e-4)
    sizes = [rule.size_of(number) for number in range(1, 10)]
    assert sizes == sorted(sizes)
    planned = sizes.index(1000) + 1
    assert max(range(1, 10), key=lambda j: 1 - rule.level_at(j, 7)) == planned
    assert [rule.due(n) for n in (0, 499, 500, 999, 1000, 1499, 1500)] == [0, 0, 1, 3, 4, 5, 6]


def test_tables_share_a_look_by_their_cells():
    channel = RandomizedResponse.k_ary(levels=4, epsilon=2.0)
    found = release(make_design(channel), np.array([1000, 600, 300, 100]))
    rule = StopRule(half_width=0.01, planned=1000)
    alone, both = rule.look_at([found], 4, respondents=2000), rule.look_at([found, found], 4, respondents=2000)
    assert 1 - both.level_used == pytest.approx((1 - alone.level_used) / 2)
    assert both.widest > alone.widest
    assert alone.more_respondents > 0
    assert alone.table == ("a",)


def test_the_error_budget_is_not_overspent():
    rule = StopRule(half_width=0.1, level=0.9)
    assert sum(7 * (1 - rule.level_at(j, 7)) for j in range(1, 2000)) == pytest.approx(0.1, abs=1e-4)
    alone = StopRule(half_width=0.1, level=0.9, simultaneous=False)
    assert sum(1 - alone.level_at(j, 7) for j in range(1, 2000)) <= 0.1


def test_refusals():
    channel = RandomizedResponse.k_ary(levels=4, epsilon=2.0)
    for bad in ({"half_width": 0.0}, {"half_width": 0.1, "level": 1.0}, {"half_width": 0.1, "share": 1.5}):
        with pytest.raises(InvalidInput):
            respondents_needed(channel, **bad)
    with pytest.raises(InvalidInput):
        StopRule(half_width=0.1, level=0.0)
    tally = Tally.counted(make_design(channel), {0: np.array([10, 20, 30, 40])})
    with pytest.raises(InvalidInput):
        StopRule(half_width=0.1).look(tally.releases()[("a",)], 0)
    with pytest.raises(InvalidInput, match="unbiased"):
        StopRule(half_width=0.1).look(model(tally).releases()[("a",)], 1)
    with pytest.raises(InvalidInput, match="planned"):
        StopRule(half_width=0.1).size_of(1)
    with pytest.raises(InvalidInput, match="planned"):
        StopRule(half_width=0.1, planned=0)
