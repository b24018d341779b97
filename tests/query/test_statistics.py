import math

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Date, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import mean, quantile, share, top, total
from tacita.query.answer import Measured
from tacita.tables.workload import Workload

ADD = Neighbours.ADD_REMOVE
RNG = np.random.default_rng(1)


def collected(attribute, values, epsilon, runs, seed=3, family="laplace"):
    """Releases of one attribute, many times over the same data."""
    domain = Domain(attributes=[attribute])
    engine = LocalEngine(domain, pa.table({attribute.name: values}))
    budget = Budget.pure(epsilon) if family == "laplace" else Budget.zcdp(epsilon**2 / 2)
    plan = NoisyTables(Workload.of([attribute.name]), family=family).calibrate(
        domain, budget, unit=Unit.row(), neighbours=ADD
    )
    source = SeededSource(seed)
    return [plan.run(engine, source)[attribute.name,] for _ in range(runs)]


def coverage(statistics, truth, level=0.95):
    return np.mean([low - 1e-9 <= truth <= high + 1e-9 for low, high in (s.interval(level) for s in statistics)])


AGE = Numeric(name="age", bounds=(0, 99), integer=True, missing=True)
AGES = RNG.normal(45, 15, 4000).clip(0, 99).astype(int)
COARSE = Numeric(name="age", bounds=(0, 99), edges=(0, 18, 40, 65, 99), integer=True)
SEX = Categorical(name="sex", levels=["f", "m"])
SEXES = RNG.choice(["f", "m"], 4000, p=[0.3, 0.7])


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_intervals_hold_their_level_and_are_not_wasteful(family, epsilon):
    ages = collected(AGE, AGES, epsilon, 300, family=family)
    assert 0.92 <= coverage([mean(r, "age") for r in ages], AGES.mean()) <= 0.985
    sexes = collected(SEX, SEXES, epsilon, 300, family=family)
    truth = np.mean(SEXES == "m")
    assert 0.92 <= coverage([share(r, "sex", "m") for r in sexes], truth) <= 0.985
    assert 0.92 <= coverage([total(r) for r in sexes], 4000) <= 0.985


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.02, 0.2, 2.0])
@pytest.mark.parametrize("values", [AGES, np.arange(1000) % 100, np.full(200, 30)], ids=["normal", "even", "peak"])
def test_quantiles_hold_their_level(q, epsilon, values):
    truth = np.quantile(values, q, method="inverted_cdf")
    found = [quantile(release, "age", q) for release in collected(AGE, values, epsilon, 150)]
    assert coverage(found, truth) >= 0.91


def test_quantiles_become_exact():
    (release,) = collected(AGE, AGES, 100.0, 1)
    found = quantile(release, "age", 0.5)
    assert found.value == np.median(AGES)
    assert found.interval() == (found.value, found.value)


@pytest.mark.parametrize("people", [5, 60])
def test_few_people_and_much_noise(people):
    """Then the interval is everything that is possible, not a small lie."""
    values = np.array(["m", "f", "f", "f", "f"] * (people // 5))
    found = [share(release, "sex", "m") for release in collected(SEX, values, 0.1, 300)]
    assert coverage(found, 0.2) >= 0.92
    assert np.mean([s.interval() == (0, 1) for s in found]) > 0.1


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        (Numeric(name="age", bounds=(0, 9), bins=1, integer=True), np.full(500, 9)),
        (Numeric(name="age", bounds=(0, 9), edges=(0, 4, 9), integer=True), np.full(500, 9)),
        (Numeric(name="age", bounds=(0, 9), edges=(0, 1, 2, 3, 9), integer=True), np.full(500, 9)),
        (Numeric(name="age", bounds=(0, 9), edges=(0, 4, 9)), np.full(500, 3.999)),
        (COARSE, AGES),
    ],
)
def test_bins_are_part_of_the_interval(attribute, values):
    releases = collected(attribute, values, 2.0, 60)
    assert coverage([mean(r, "age") for r in releases], values.mean()) >= 0.9
    truth = np.quantile(values, 0.5, method="inverted_cdf")
    assert coverage([quantile(r, "age", 0.5) for r in releases], truth) >= 0.9


def test_single_integers_have_no_bin_error():
    (release,) = collected(AGE, AGES, 1.0, 1)
    assert mean(release, "age").bin_error == 0
    (coarse,) = collected(COARSE, AGES, 1.0, 1)
    assert 8 < mean(coarse, "age").bin_error < 17


def test_mean_of_dates_is_in_days():
    born = Date(name="born", bounds=("2000-01-01", "2000-12-31"), by="day")
    days = RNG.integers(0, 366, 4000)
    (release,) = collected(born, np.datetime64("2000-01-01") + days, 100.0, 1)
    assert mean(release, "born").value == pytest.approx(10957 + days.mean(), abs=0.5)


def test_an_empty_level_has_an_interval_that_is_one():
    for release in collected(SEX, np.full(1000, "m"), 0.5, 200):
        low, high = share(release, "sex", "f").interval()
        assert 0 <= low <= high <= 1


def test_nobody_is_left():
    (release,) = collected(AGE, np.array([], int), 100.0, 1)
    for found in (mean(release, "age"), quantile(release, "age", 0.5)):
        assert math.isnan(found.value)
        assert found.interval() == (0, 99)
        assert found.as_dict()["value"] is None


def test_refusals():
    (sexes,) = collected(SEX, SEXES, 1.0, 1)
    (ages,) = collected(AGE, AGES, 1.0, 1)
    with pytest.raises(InvalidInput, match="sex"):
        mean(sexes, "sex")
    with pytest.raises(InvalidInput, match="f, m"):
        share(sexes, "sex", "x")
    with pytest.raises(InvalidInput, match="q"):
        quantile(ages, "age", 1.0)
    with pytest.raises(InvalidInput, match="level"):
        mean(ages, "age").interval(1.0)


def test_the_top_are_the_largest_and_their_intervals_hold_together():
    regions = Categorical(name="r", levels=tuple("abcdefgh"))
    counts = np.array([50, 400, 52, 10, 300, 51, 0, 49])
    values, held = np.repeat(list("abcdefgh"), counts), 0
    for release in collected(regions, values, 0.5, 200):
        found = top(release, 3)
        assert [labels[0] for labels, _ in found[:2]] == ["b", "e"]
        released = np.sort(np.asarray(release.values, float))[::-1]
        assert [statistic.value for _, statistic in found] == released[:3].tolist()
        ends = [(counts["abcdefgh".index(labels[0])], statistic.interval()) for labels, statistic in found]
        held += all(low <= exact <= high for exact, (low, high) in ends)
    assert held >= 0.95 * 200 - 10


def test_there_is_no_top_of_nothing_and_none_beyond_all():
    (release,) = collected(SEX, SEXES, 1.0, 1)
    for k in (0, 3):
        with pytest.raises(InvalidInput, match="1 to 2"):
            top(release, k)


def test_measured_values_of_no_group_are_read_again():
    """No private key may have been named."""
    again = Measured.from_dict(Measured(values=(np.zeros((0, 3)),)).as_dict())
    assert len(again.values[0]) == 0
