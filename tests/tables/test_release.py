import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import DiscreteLaplace, SeededSource
from tacita.plans.additive import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.event import NonPrivate, Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells, Projectable
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.table import Table
from tacita.tables.uncertainty import AdditiveNoise
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name="a", levels=["x", "y"], missing=True), Boolean(name="b")])


def release(attributes=("a", "b"), scale=2, **changes):
    domain = DOMAIN.project(attributes)
    parts = {
        "estimate": Cells(domain, np.arange(domain.size).reshape(domain.shape)),
        "quantity": "count",
        "uncertainty": AdditiveNoise(law=DiscreteLaplace.at_least(scale)),
        "event": Pure(epsilon=0.5),
        "unit": Unit.row(),
        "neighbours": Neighbours.ADD_REMOVE,
        "trust": "central",
        "provenance": Provenance(recipe={"method": "test"}, simulated=False),
    }
    return Release(**(parts | changes))


@pytest.mark.parametrize("attributes", [("a", "b"), ("b",), ()])
def test_round_trip(attributes):
    first = release(attributes)
    again = Release.from_json(first.to_json())
    assert again.as_dict() == first.as_dict()
    assert np.array_equal(again.values, first.values)
    assert np.array_equal(again.interval(0.9)[0], first.interval(0.9)[0])


def test_exact_counts_cannot_be_released():
    with pytest.raises(InvalidInput, match="exact counts"):
        release(estimate=Table.zeros(DOMAIN))


def test_projection_is_free_and_knows_its_error():
    summed = release().project(["b"])
    assert summed.values.tolist() == [6, 9]
    assert summed.std()[0] == pytest.approx(3**0.5 * release().std()[0, 0])
    assert summed.event == release().event
    assert isinstance(release(), Projectable)


def test_guarantee_is_said():
    assert release().guarantee == "central"
    assert release(event=NonPrivate(reason="raw")).guarantee == "none"


def test_provenance():
    data = release().with_charge("ch_1", "census").as_dict()["provenance"]
    assert data["charge"] == "ch_1"
    assert data["dataset"] == "census"
    assert {"python", "tacita", "numpy", "opendp"} <= set(data["versions"])


def test_every_run_has_its_own_id_and_what_was_read_keeps_its_own():
    made = [Provenance(recipe={}, simulated=False) for _ in range(1000)]
    assert len({each.run for each in made}) == 1000
    assert all(re.fullmatch(r"run_[0-9a-f]{16}", each.run) for each in made)
    data = json.loads(json.dumps(made[0].as_dict()))
    assert Provenance(**data) == made[0]
    before = {name: value for name, value in data.items() if name != "run"}
    assert Provenance(**before).run is None
    assert Provenance(**before).as_dict() == before  # as it was written


def test_tables_of_one_run_share_its_id_and_a_seed_repeats_all_but_it(monkeypatch):
    rows = pa.table({"a": ["x", "y", None] * 50, "b": [True, False, True] * 50})
    recipe = NoisyTables(Workload.of(["a"], ["b"]))
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    one, other = (plan.run(LocalEngine(DOMAIN, rows), SeededSource(7)) for _ in range(2))
    runs = [{release.provenance.run for release in made.values()} for made in (one, other)]
    assert [len(found) for found in runs] == [1, 1]
    assert runs[0] != runs[1]
    monkeypatch.setattr("tacita.tables.release.secrets.token_hex", lambda size: "0" * 2 * size)
    fixed = plan.run(LocalEngine(DOMAIN, rows), SeededSource(7))
    for key in one:  # whatever the id is, the noise is the same: neither is drawn from the other
        assert one[key].values.tolist() == other[key].values.tolist() == fixed[key].values.tolist()


def test_arrow():
    table = release().to_arrow(0.9)
    assert table.column_names == ["a", "b", "estimate", "std", "low", "high"]
    assert table.num_rows == 6
    assert table.column("a").to_pylist()[-1] == "(missing)"
    assert json.loads(table.schema.metadata[b"tacita"])["neighbours"] == "add-remove"
    assert release(()).to_arrow().num_rows == 1


def test_releases_answer_from_the_most_accurate():
    both = Releases([release(("a", "b"), scale=2), release(("a",), scale=2), release((), scale=50)])
    assert both.project(["a"]).values.tolist() == [0, 1, 2]
    assert both.project([]).uncertainty.terms == 3  # the sum of `a` beats the very noisy total
    assert both.domain.names == ("a", "b")
    assert both.supports(["b"])
    assert ("a",) in both
    assert ("b",) not in both
    with pytest.raises(UnknownName):
        both.project(["c"])
    with pytest.raises(UnknownName):
        both["b",]
    again = Releases.from_json(both.to_json())
    assert list(again) == list(both)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Release.from_json('{"tacita": "release/9"}'),
        lambda: Releases.from_json('{"tacita": "release/1"}'),
        lambda: Releases([]),
    ],
)
def test_bad_data(bad):
    with pytest.raises(InvalidInput):
        bad()


def test_what_many_tables_share_is_written_once(monkeypatch):
    domain = Domain(attributes=[Boolean(name=f"b{at}") for at in range(6)])
    engine = LocalEngine(domain, pa.table({name: [True, False] for name in domain.names}))
    keys = [[a, b] for a in domain.names for b in domain.names if a < b]
    plan = NoisyTables(Workload.of(*keys)).calibrate(
        domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    made = plan.run(engine, SeededSource(1))
    whole = made.to_json()
    monkeypatch.setattr("tacita.tables.release.MOST_APART", 2)
    short = made.to_json()
    assert len(short) < len(whole) / 3
    assert Releases.from_json(short).as_dict() == Releases.from_json(whole).as_dict() == made.as_dict()
    odd = Releases([*list(made.values())[1:], replace(made[keys[0]], event=Pure(epsilon=0.5))])
    assert Releases.from_json(odd.to_json())[keys[0]].event == Pure(epsilon=0.5)
