import numpy as np
import pyarrow as pa
import pytest

from tacita.console.look.maps import crosstab, flows, network, pair_heat, tiles
from tacita.domain import Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.figures.charts import Interval
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[Categorical(name="sex", levels=["f", "m"]), Categorical(name="town", levels=["Bari", "Pisa", "Roma"])]
)


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    rows = pa.table({"sex": rng.choice(["f", "m"], 3000), "town": rng.choice(["Bari", "Pisa", "Roma"], 3000)})
    plan = NoisyTables(Workload.of(["sex", "town"])).calibrate(
        DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(LocalEngine(DOMAIN, rows), SeededSource(1))[("sex", "town")]


def test_a_crosstab_has_shares_that_add_up_to_its_totals(release):
    drawn = crosstab(release, title="Shares")
    shares = {(row[0], row[1]): row[2] for row in drawn.rows}
    assert len(shares) == 3 * 4
    assert shares["all", "all"] == pytest.approx(1.0)
    towns = ("Bari", "Pisa", "Roma")
    assert shares["f", "all"] == pytest.approx(sum(shares["f", town] for town in towns))
    assert sum(shares["all", town] for town in towns) == pytest.approx(1.0)
    assert shares["f", "Bari"] == pytest.approx(release.values[0, 0] / release.values.sum())
    tip = drawn.options["series"][0]["data"][0]["tip"]
    assert tip[0] == "sex f, town Bari"
    assert any(line.endswith("of sex f") for line in tip)
    assert any(line.startswith("95 %") for line in tip)


def test_regions_are_tiles_where_their_names_are_points_of_the_compass():
    rows = [Interval(label=name, value=share) for name, share in (("north", 0.5), ("East", 0.3), ("south", 0.2))]
    drawn = tiles(rows, title="Regions", share=True)
    places = {each["name"].split("\n")[0]: each["value"][:2] for each in drawn.options["series"][0]["data"]}
    assert places == {"north": [1, 0], "East": [2, 1], "south": [1, 2]}
    assert [row[:2] for row in drawn.rows] == [("north", 0.5), ("East", 0.3), ("south", 0.2)]
    assert tiles([Interval(label=each, value=1.0) for each in ("yes", "no", "north")], title="No", share=True) is None


def test_a_stronger_link_is_wider_and_has_its_strength_in_the_table():
    parents = {"a": (), "b": ("a",), "c": ("b",)}
    drawn = network(parents, title="Network", weights={("a", "b"): 0.1, ("b", "c"): 0.4})
    assert drawn.columns == ("from", "to", "bits")
    assert drawn.rows == (("a", "b", 0.1), ("b", "c", 0.4))
    weak, strong = (each["lineStyle"] for each in drawn.options["series"][0]["links"])
    assert weak["width"] < strong["width"]
    assert weak["opacity"] < strong["opacity"] <= 1.0
    down = {each["name"]: each["value"][1] for each in drawn.options["series"][0]["data"]}
    assert down["a"] < down["b"] < down["c"]


def test_a_network_without_strengths_and_links_is_drawn():
    drawn = network({"a": (), "b": ()}, title="Network")
    assert drawn.rows == ()
    assert drawn.columns == ("from", "to")


def test_each_pair_is_once_in_the_table_and_twice_in_the_picture():
    drawn = pair_heat(["a", "b", "c"], [[0, 1, 2], [1, 0, 3], [2, 3, 0]], title="Pairs", unit="bits")
    assert drawn.rows == (("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 3.0))
    assert len(drawn.options["series"][0]["data"]) == 6
    assert drawn.options["visualMap"]["max"] == 3.0


def test_only_the_heaviest_flows_are_drawn():
    moved = [(0, 1, 5.0), (1, 0, 2.0), (0, 0, 9.0), (1, 2, 1.0)]
    drawn = flows(["x", "y", "z"], moved, points=None, title="Flows", most=2)
    assert drawn.rows == (("x", "y", 5.0), ("y", "x", 2.0))
    assert len(drawn.options["series"][0]["links"]) == 2
