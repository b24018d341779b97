import numpy as np
import pyarrow as pa
import pytest

from tacita.console.parts.released import chart_of, charts_of_rows, pictures_of, twins
from tacita.domain import Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[
        Categorical(name="sex", levels=["f", "m"]),
        Categorical(name="region", levels=["north", "east", "south"]),
    ]
)
TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}


@pytest.fixture(scope="module")
def engine():
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 4000)
    region = np.where(rng.random(4000) < 0.8, sex, rng.integers(0, 3, 4000))
    rows = {"sex": np.array(["f", "m"])[sex], "region": np.array(["north", "east", "south"])[region]}
    return LocalEngine(DOMAIN, pa.table(rows))


@pytest.fixture(scope="module")
def tables(engine):
    plan = NoisyTables(Workload.of(["region"], ["sex", "region"])).calibrate(DOMAIN, Budget.pure(1.0), **TERMS)
    return plan.run(engine, SeededSource(1))


@pytest.fixture(scope="module")
def made(engine):
    return Synthesize(method="pairs").calibrate(DOMAIN, Budget.pure(4.0), **TERMS).run(engine, SeededSource(2))


def test_a_table_is_drawn_with_the_numbers_of_the_release(tables):
    release = tables["sex", "region"]
    low, high = release.interval(0.95)
    drawn = chart_of(release)
    assert [row[1] for row in drawn.rows] == release.values.ravel().tolist()
    assert [row[2] for row in drawn.rows] == pytest.approx(low.ravel().tolist())
    assert [row[3] for row in drawn.rows] == pytest.approx(high.ravel().tolist())
    assert drawn.rows[0][0] == "f, north"


def test_two_attributes_have_a_crosstab_and_regions_have_tiles(tables):
    assert list(pictures_of(tables["sex", "region"])) == ["Bars with intervals", "Shares with totals"]
    assert list(pictures_of(tables["region",])) == ["Bars with intervals", "Map of tiles"]


def test_synthetic_rows_are_beside_the_released_table_as_shares(tables, made):
    release = tables["sex", "region"]
    drawn = twins(release, made)
    total = release.values.sum()
    assert [row[1] for row in drawn.rows] == pytest.approx((release.values / total).ravel().tolist())
    modelled = made.project(("sex", "region")).values
    assert [row[4] for row in drawn.rows] == pytest.approx((modelled / modelled.sum()).ravel().tolist())
    # both are about the same people, in one order of cells
    assert np.corrcoef([row[1] for row in drawn.rows], [row[4] for row in drawn.rows])[0, 1] > 0.99


def test_other_cells_are_not_compared(tables, engine):
    few = Synthesize(method="independent", attributes=("sex",))
    made = few.calibrate(DOMAIN, Budget.pure(4.0), **TERMS).run(engine, SeededSource(2))
    assert twins(tables["sex", "region"], made) is None


def test_statistics_have_a_chart_for_each_column_with_an_interval():
    rows = [
        {
            "sex": "f",
            "n": 10.0,
            "n_std": 1.0,
            "n_low": 8.0,
            "n_high": 12.0,
            "mean": None,
            "mean_low": None,
            "mean_high": None,
        },
        {
            "sex": "m",
            "n": 5.0,
            "n_std": 1.0,
            "n_low": 3.0,
            "n_high": 7.0,
            "mean": 2.0,
            "mean_low": 1.0,
            "mean_high": 3.0,
        },
    ]
    counts, means = charts_of_rows(rows)
    assert counts.title == "n by sex"
    assert counts.rows == (("f", 10.0, 8.0, 12.0), ("m", 5.0, 3.0, 7.0))
    assert means.rows == (("f", None, None, None), ("m", 2.0, 1.0, 3.0))
    assert charts_of_rows([{"age": 40.0, "size": 10.0, "size_std": 2.0}]) == []
    assert charts_of_rows([]) == []
