"""Rules: measures against exact tables, intervals against simulation, and no rules out of noise."""

import numpy as np
import pytest

from tacita.collect.analysis.rules import _adjusted, _Measured, find_rules
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName

DOMAIN = Domain(
    attributes=[
        Categorical(name="smokes", levels=["never", "daily"]),
        Categorical(name="age", levels=["young", "middle", "old"]),
        Categorical(name="town", levels=["yes", "no"]),
    ]
)
PAIR = ("smokes", "age")
INDEPENDENT = np.outer([0.7, 0.3], [0.3, 0.5, 0.2])
PLANTED = np.array([[0.16, 0.36, 0.18], [0.14, 0.14, 0.02]])


def design_of(channel, attributes=PAIR):
    asked = (Asked(attributes=attributes, channel=channel, share=1.0),)
    return CollectionDesign(domain=DOMAIN, questions=asked, epsilon=9.0, respondents=1000, mode="tables")


K_RR = RandomizedResponse.k_ary(levels=6, epsilon=2.0)


def collected(table, people, rng, channel=K_RR):
    counts = rng.multinomial(people, table.reshape(-1) @ channel.matrix())
    return Tally.counted(design_of(channel), {0: counts}, simulated=True).releases()


def by_name(rules):
    return {str(rule): rule for rule in rules}


def test_measures_are_those_of_the_table():
    # expected counts in place of drawn ones: the estimate is the table itself
    people = 10**9
    counts = np.round(people * (PLANTED.reshape(-1) @ K_RR.matrix())).astype(np.int64)
    rules = by_name(find_rules(Tally.counted(design_of(K_RR), {0: counts}).releases(), lift=1.01))
    rule = rules["{age=young} -> {smokes=daily}"]
    assert rule.support.value == pytest.approx(0.14, abs=1e-6)
    assert rule.confidence.value == pytest.approx(0.14 / 0.30, abs=1e-6)
    assert rule.lift.value == pytest.approx(0.14 / 0.30 / 0.30, abs=1e-5)
    assert "{age=old} -> {smokes=daily}" not in rules
    assert [rule.lift.value for rule in rules.values()] == sorted(
        (rule.lift.value for rule in rules.values()), reverse=True
    )
    only = find_rules(Tally.counted(design_of(K_RR), {0: counts}).releases(), then=["age"])
    assert {rule.then[0] for rule in only} == {"age"}


@pytest.mark.parametrize("adjust", ["bonferroni", "benjamini-hochberg"])
def test_noise_makes_no_rules(adjust):
    rng, trials, level = np.random.default_rng(2), 400, 0.1
    false = loose = 0
    for _ in range(trials):
        releases = collected(INDEPENDENT, 4000, rng)
        false += bool(find_rules(releases, lift=1.0, level=level, adjust=adjust))
        # what happens to those who do not count what they looked at: everything below its own level
        every = find_rules(releases, lift=1.0, level=0.999, adjust="benjamini-hochberg")
        loose += any(rule.p_value < level for rule in every)
    assert false / trials < level + 3 * np.sqrt(level * (1 - level) / trials)
    assert loose / trials > 2 * level


def test_a_planted_rule_is_found_and_more_people_find_it_more_often():
    rng = np.random.default_rng(3)
    found = []
    for people in (300, 3000, 30_000):
        names = [by_name(find_rules(collected(PLANTED, people, rng), lift=1.2)) for _ in range(40)]
        found.append(sum("{age=young} -> {smokes=daily}" in rules for rules in names))
    assert found == sorted(found)
    assert found[0] < 20
    assert found[-1] >= 38


@pytest.mark.parametrize("channel", [K_RR, UnaryEncoding.optimised(levels=6, epsilon=2.0)], ids=["k-RR", "unary"])
def test_intervals_and_standard_errors_hold(channel):
    rng, trials, people = np.random.default_rng(4), 400, 20_000
    truth = {"support": 0.14, "confidence": 0.14 / 0.30, "lift": 0.14 / 0.09}
    covered = dict.fromkeys(truth, 0)
    seen = {name: [] for name in truth}
    for _ in range(trials):
        if channel is K_RR:
            releases = collected(PLANTED, people, rng)
        else:
            codes = rng.multinomial(people, PLANTED.reshape(-1))
            law = channel.support_law
            rest = people - codes
            counts = rng.binomial(codes, float(law.hit)) + rng.binomial(rest, float(law.miss))
            tally = Tally.counted(design_of(channel), {0: np.append(counts, people)}, simulated=True)
            releases = tally.releases()
        rule = by_name(find_rules(releases, lift=0.0, level=0.1))["{age=young} -> {smokes=daily}"]
        for name, value in truth.items():
            measure = getattr(rule, name)
            covered[name] += measure.low <= value <= measure.high
            seen[name].append((measure.value, measure.std))
    for name in truth:
        assert abs(covered[name] / trials - 0.9) < 4 * np.sqrt(0.09 / trials)
        values, errors = np.array(seen[name]).T
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.15)


def test_standard_errors_are_those_of_the_derivative():
    measured = _Measured(collected(PLANTED, 5000, np.random.default_rng(6))[PAIR])
    dense, at = measured.covariance.dense(), measured.shares

    def lift(flat):
        table = flat.reshape(2, 3)
        return table[1, 0] / (table[1].sum() * table[:, 0].sum())

    def confidence(flat):
        table = flat.reshape(2, 3)
        return table[1, 0] / table[:, 0].sum()

    (rule,) = [r for r in measured.rules("smokes", 0.0, 1.0, 0.1) if str(r) == "{age=young} -> {smokes=daily}"]
    for name, function in (("lift", lift), ("confidence", confidence)):
        gradient = np.array([(function(at + step) - function(at - step)) / 2e-6 for step in np.eye(6) * 1e-6])
        assert getattr(rule, name).std == pytest.approx(np.sqrt(gradient @ dense @ gradient), rel=1e-5)


@pytest.mark.parametrize("people", [500, 3000, 20_000])
def test_a_rule_passes_when_both_lower_ends_do(people):
    # one-sided at 0.1 is the lower end of an interval of level 0.8
    release = collected(PLANTED, people, np.random.default_rng(people))[PAIR]
    for right in PAIR:
        for rule in _Measured(release).rules(right, 0.3, 1.1, 0.2):
            assert (rule.p_value < 0.1) == (rule.lift.low > 1.1 and rule.confidence.low > 0.3)


def test_a_larger_table_gives_longer_rules_and_each_set_once():
    channel = RandomizedResponse.k_ary(levels=12, epsilon=4.0)
    table = np.stack([PLANTED * 0.5, PLANTED * 0.5], axis=-1)
    table[1, 0] = [0.14, 0.0]
    counts = np.round(10**8 * (table.reshape(-1) / table.sum() @ channel.matrix())).astype(np.int64)
    tally = Tally.counted(design_of(channel, ("smokes", "age", "town")), {0: counts})
    names = [str(rule) for rule in find_rules(tally.releases(), lift=1.2, confidence=0.9)]
    assert "{smokes=daily, age=young} -> {town=yes}" in names
    assert len(names) == len(set(names))


def test_bonferroni_and_benjamini_hochberg_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(_adjusted(p, "bonferroni"), [0.04, 0.16, 0.12, 1.0])
    np.testing.assert_allclose(_adjusted(p, "benjamini-hochberg"), [0.04, 0.16 / 3, 0.16 / 3, 0.5])


def test_refusals():
    tally = Tally.counted(design_of(K_RR), {0: np.array([10, 20, 30, 40, 50, 60])})
    for bad in ({"level": 0.0}, {"confidence": 1.0}, {"lift": -1.0}, {"adjust": "none"}):
        with pytest.raises(InvalidInput):
            find_rules(tally.releases(), **bad)
    with pytest.raises(UnknownName):
        find_rules(tally.releases(), then=["nobody"])
    with pytest.raises(InvalidInput, match="covariance"):
        find_rules(model(tally).releases())
