"""Synthetic rows that executors draw and write: the same for the same seed, whoever draws them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import run
from tests.support.ports import free_port
from tests.support.spark import SparkCluster

from tacita.cli.parts import show
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
        ("spark:/proc/out", "cannot be written"),
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


# -- as commands -----------------------------------------------------------------------------------------------------

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 10, integer: true, role: quasi-identifier}
- {name: zip, kind: categorical, levels: [a, b, c, d], role: quasi-identifier}
- {name: ill, kind: categorical, levels: [flu, cold, gout], role: sensitive}
"""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(2)
    (tmp_path / "people").mkdir()
    for part in range(4):
        rows = {
            "age": rng.integers(0, 99, 500),
            "zip": rng.choice(["a", "b", "c", "d"], 500),
            "ill": rng.choice(["flu", "cold", "gout"], 500),
        }
        pq.write_table(pa.table(rows), tmp_path / "people" / f"{part}.parquet")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(show.out, "_width", 250)
    monkeypatch.setattr(show.err, "_width", 500)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tacita_anonymize(people: Path, session: Any) -> None:
    asked = ("-s", "people.yaml", "--k", "10", "--l", "2", "--json")
    done = run("anonymize", "spark:people", "-o", "spark:out", "--report", "r.html", *asked)
    assert done.code == 0, done.err
    here = run("anonymize", "people", "-o", "here.parquet", *asked)
    mine, theirs = json.loads(done.out), json.loads(here.out)
    assert {key: mine[key] for key in mine if key != "warnings"} == {
        key: theirs[key] for key in theirs if key != "warnings"
    }
    assert pa.concat_tables(files(people / "out")) == pq.read_table("here.parquet")
    assert "2,000 rows in spark:out" in (people / "r.html").read_text()
    shown = run("anonymize", "spark:people", "-o", "spark:again", "-s", "people.yaml", "--k", "40")
    assert shown.code == 0
    assert "has other classes" in shown.out + shown.err  # the log of releases knows of the first
    for more, said in (
        (("spark:people", "-o", "spark:out"), "exists already"),
        (("people", "-o", "spark:new"), "only Spark writes rows where they are"),
        (("spark:people", "-o", "spark:"), "must name a folder"),
    ):
        refused = run("anonymize", *more, "-s", "people.yaml", "--k", "10")
        assert refused.code != 0
        assert said in refused.err
    assert not (people / "new").exists()


def test_tacita_synthesize(people: Path, session: Any) -> None:
    run("budget", "open", "people", "--epsilon", "2")
    asked = ("-s", "people.yaml", "-a", "people", "--epsilon", "1", "-n", "3000", "--key-column", "id")
    done = run("synthesize", "spark:people", "-o", "spark:out", "--parts", "3", *asked, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["rows"] == 3000
    assert [part.num_rows for part in files(people / "out")] == [1000] * 3
    refused = run("synthesize", "spark:people", "-o", "spark:out", *asked)
    assert "exists already" in refused.err
    stated = run("synthesize", "spark:people", "-o", "spark:new", "--statement", "s.json", *asked)
    assert "a cluster writes a folder" in stated.err
    (account,) = json.loads(run("budget", "show", "people", "--json").out)
    assert account["spent"] == 1.0  # what was refused cost nothing


def test_tacita_assess_looks_at_a_sample(people: Path, session: Any) -> None:
    asked = ("--real", "spark:people", "-s", "people.yaml", "--attempts", "50", "--json")
    done = run("assess", "people", *asked, "--sample", "700", "--report", "r.html")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["people"] == 700
    assert found["samples"] == [
        {"table": "real rows", "rows": 700, "of": 2000},
        {"table": "released rows", "rows": 700, "of": 2000},
    ]
    assert "real rows: 700 of 2,000 rows" in (people / "r.html").read_text()
    whole = json.loads(run("assess", "people", *asked).out)
    assert "samples" not in whole
    assert whole["people"] == 2000
