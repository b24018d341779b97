import json

import numpy as np
import pytest

from tacita.cells import Cells, Projectable
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import DiscreteLaplace
from tacita.privacy.event import NonPrivate, Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance, Release, Releases
from tacita.table import Table
from tacita.uncertainty import AdditiveNoise

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
