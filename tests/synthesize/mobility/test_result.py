"""The released model: batches, files, JSON and its statement."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility import result
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.result import SyntheticMobility


@pytest.fixture(scope="module")
def plan(city):
    unit = Unit.of_person("card", max_rows=12)
    return PlainOd(places=city.places).calibrate(
        city.schema.domain, Budget.pure(3.0), unit=unit, neighbours=Neighbours.REPLACE_ONE
    )


@pytest.fixture(scope="module")
def made(plan, engine):
    return plan.run(engine, SecureSource())


def test_it_states_who_is_protected(plan, made, engine):
    assert made.guarantee == "central"
    assert "at most 12 count" in made.statement()
    assert "replace-one" in made.statement()
    seeded = plan.run(engine, SeededSource(1))
    assert seeded.guarantee == "none"
    assert "NOT private" in seeded.statement()


def test_json_holds_all_of_it(made):
    again = SyntheticMobility.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert (again.event, again.unit, again.people) == (made.event, made.unit, made.people)
    broken = made.to_json().replace('"kind": "od"', '"kind": "other"')
    with pytest.raises(InvalidInput, match="walk"):
        SyntheticMobility.from_json(broken)
    with pytest.raises(InvalidInput):
        SyntheticMobility.from_json(made.to_json().replace("mobility/1", "mobility/9"))


def test_files_hold_every_card_once(made, tmp_path, monkeypatch):
    monkeypatch.setattr(result, "_BATCH", 40)
    seen = []
    made.write(tmp_path / "taps.parquet", 100, np.random.default_rng(0), progress=seen.append)
    table = pq.read_table(tmp_path / "taps.parquet")
    assert len(set(table["card"].to_pylist())) == 100
    assert seen[-1] == table.num_rows
    assert b"tacita" in table.schema.metadata
    made.write(tmp_path / "none.csv", 0, np.random.default_rng(0))
    assert (tmp_path / "none.csv").read_text().count("\n") == 1
    for bad in (-1, 2.0, result.MOST_CARDS + 1):
        with pytest.raises(InvalidInput):
            made.sample(bad, np.random.default_rng(0))
