import math

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.mechanisms import NoisyTables
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import mean, quantile, share, total
from tacita.tables import Workload

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True, missing=True),
        Categorical(name="sex", levels=["f", "m"]),
        Date(name="born", bounds=("2000-01-01", "2000-12-31"), by="day"),
    ]
)
RNG = np.random.default_rng(1)
AGES = RNG.normal(45, 15, 4000).clip(0, 99).astype(int)
DATA = pa.table(
    {
        "age": pa.array(AGES),
        "sex": pa.array(RNG.choice(["f", "m"], 4000, p=[0.3, 0.7])),
        "born": pa.array(np.datetime64("2000-01-01") + RNG.integers(0, 366, 4000)),
    }
)
ENGINE = LocalEngine(DOMAIN, DATA)


def releases(key, epsilon, runs):
    plan = NoisyTables(Workload.of(key)).calibrate(
        DOMAIN, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    source = SeededSource(3)
    return [plan.run(ENGINE, source)[key] for _ in range(runs)]


@pytest.mark.parametrize(
    ("key", "statistic", "truth"),
    [
        (("age",), lambda r: mean(r, "age"), AGES.mean()),
        (("sex",), total, 4000),
        (("sex",), lambda r: share(r, "sex", "m"), np.mean(DATA["sex"].to_numpy() == "m")),
        (("age", "sex"), total, 4000),
    ],
)
def test_stated_error_is_measured_error(key, statistic, truth):
    found = [statistic(release) for release in releases(key, 0.5, 300)]
    errors = np.array([s.value - truth for s in found])
    assert abs(errors.mean()) < 5 * errors.std() / math.sqrt(len(errors)) + found[0].bin_error
    assert errors.std() == pytest.approx(np.mean([s.std for s in found]), rel=0.2)
    inside = np.mean([low <= truth <= high for low, high in (s.interval(0.95) for s in found)])
    assert 0.9 <= inside <= 0.99


def test_quantile():
    found = [quantile(release, "age", 0.5) for release in releases(("age",), 1.0, 100)]
    truth = np.median(AGES)
    assert np.mean([abs(s.value - truth) for s in found]) < 1.5
    assert np.mean([low <= truth <= high for low, high in (s.interval(0.95) for s in found)]) > 0.85


def test_mean_of_dates_is_in_days():
    (release,) = releases(("born",), 100.0, 1)
    assert mean(release, "born").value == pytest.approx(10957 + 182.5, abs=4)


def test_single_integers_have_no_bin_error():
    (release,) = releases(("age",), 1.0, 1)
    assert mean(release, "age").bin_error == 0


def test_nobody_left():
    (release,) = releases(("age",), 1.0, 1)
    empty = NoisyTables(Workload.of(("age",))).calibrate(
        DOMAIN, Budget.pure(1000.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    nobody = empty.run(LocalEngine(DOMAIN, DATA.slice(0, 0)), SeededSource(1))["age",]
    assert math.isnan(mean(nobody, "age").value)
    assert mean(nobody, "age").std == math.inf
    assert math.isnan(quantile(nobody, "age", 0.5).value)
    assert release.values.sum() > 0


def test_refusals():
    (release,) = releases(("sex",), 1.0, 1)
    with pytest.raises(InvalidInput, match="sex"):
        mean(release, "sex")
    with pytest.raises(InvalidInput, match="f, m"):
        share(release, "sex", "x")
    (ages,) = releases(("age",), 1.0, 1)
    with pytest.raises(InvalidInput, match="q"):
        quantile(ages, "age", 1.0)
    assert Boolean(name="b").size == 2
