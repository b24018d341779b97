"""Synthetic rows that executors draw and write: the same for the same seed, whoever draws them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.ports import free_port
from tests.support.spark import SparkCluster

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.spark.target import PART_ROWS, SparkTarget
from tacita.errors import InternalError, InvalidInput, SourceUnavailable
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.synthesize.result import Synthesized

DOMAIN = Domain(
    attributes=[
        Categorical(name="sex", levels=["f", "m"]),
        Categorical(name="zip", levels=["a", "b", "c", "d"]),
        Numeric(name="age", bounds=(0, 80), bins=8),
    ]
)


@pytest.fixture(scope="module")
def fitted() -> Synthesized:
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    zips = np.where(rng.random(4000) < 0.5, sex, rng.integers(0, 4, 4000))
    rows = pa.table(
        {
            "sex": np.array(["f", "m"])[sex],
            "zip": np.array(["a", "b", "c", "d"])[zips],
            "age": np.clip(rng.normal(30 + 20 * sex, 9), 0, 79),
        }
    )
    plan = Synthesize().calibrate(DOMAIN, Budget.approx(2.0, 1e-6), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    return plan.run(LocalEngine(DOMAIN, rows), SeededSource(1))


def files(folder: Path) -> list[pa.Table]:
    return [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]


def test_the_same_rows_as_without_a_cluster(tmp_path: Path, session: Any, fitted: Synthesized) -> None:
    fitted.write(f"spark:{tmp_path}/out", 5001, np.random.default_rng(7), parts=5, key="id")
    fitted.write(tmp_path / "here.parquet", 5001, np.random.default_rng(7), parts=5, key="id")
    mine, theirs = files(tmp_path / "out"), files(tmp_path / "here.parquet")
    assert mine == theirs
    assert [part.num_rows for part in mine] == [1001, 1000, 1000, 1000, 1000]
    assert sorted(pa.concat_tables(mine)["id"].to_pylist()) == list(range(1, 5002))
    assert all(one != other for one, other in itertools.combinations([part.slice(0, 1000) for part in mine], 2))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["here.parquet", "out"]


def test_parts_have_the_tables_of_the_model(tmp_path: Path, session: Any, fitted: Synthesized) -> None:
    """Each part is a sample of the whole model: its tables of pairs are near the model's, none is special."""
    fitted.write(f"spark:{tmp_path}/out", 40_000, np.random.default_rng(), parts=4, policy="uniform")
    for part in files(tmp_path / "out"):
        for pair in itertools.combinations(DOMAIN.names, 2):
            counts = LocalEngine(DOMAIN, part).project(pair).values
            share = np.asarray(fitted.project(pair).values)
            assert np.abs(counts / 10_000 - share / share.sum()).max() < 0.02


def test_the_number_of_files_follows_from_the_number_of_rows() -> None:
    assert [SparkTarget.parts_of(rows) for rows in (0, 1, PART_ROWS, PART_ROWS + 1)] == [1, 1, 1, 2]


def test_no_rows(tmp_path: Path, session: Any, fitted: Synthesized) -> None:
    fitted.write(f"spark:{tmp_path}/out", 0, np.random.default_rng())
    assert [part.num_rows for part in files(tmp_path / "out")] == [0]


class Unlucky(Synthesized):
    def _drawn(self, *given: Any) -> Any:
        raise KeyError("SECRET")


def test_targets_that_cannot_be(tmp_path: Path, cluster: SparkCluster, session: Any, fitted: Synthesized) -> None:
    for address, match in (
        ("spark:", "must name a folder"),
        ("out.parquet", "must be spark:PATH"),
        (f"spark:{tmp_path}/no/out", "its folder must exist"),
        (f"spark:{tmp_path}", "exists already"),
    ):
        with pytest.raises(InvalidInput, match=match):
            SparkTarget.parse(address).check()
    with pytest.raises(InvalidInput, match="must be the cluster of the Spark session"):
        SparkTarget.parse(f"spark://127.0.0.1:{free_port()}{tmp_path}/out").check()
    SparkTarget.parse(f"{cluster.master}{tmp_path}/out").check()
    import tests.engines.spark.test_target as this
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(this)
    broken = this.Unlucky.__new__(this.Unlucky)
    broken.__dict__.update(fitted.__dict__)
    with pytest.raises((InternalError, SourceUnavailable), match="could not be made"):
        broken.write(f"spark:{tmp_path}/out", 10, np.random.default_rng())
    assert "SECRET" not in cluster.logs()
    assert not [*tmp_path.iterdir()]
