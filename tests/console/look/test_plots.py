import math

import pytest

from tacita.console.look.plots import attack_bars, front, interval_bars, lines, twin_bars
from tacita.figures.charts import Curve, Interval, Point

ROWS = [
    Interval(label="north", value=120.0, low=110.0, high=130.0),
    Interval(label="south", value=-1.0, low=-7.0, high=5.0),
    Interval(label="far", value=3.0),
]


def test_bars_have_their_numbers_in_the_table_in_the_tip_and_at_the_right():
    drawn = interval_bars(ROWS, title="Counts", what="region")
    assert drawn.columns == ("region", "value", "95 % from", "95 % to")
    assert drawn.rows == (("north", 120.0, 110.0, 130.0), ("south", -1.0, -7.0, 5.0), ("far", 3.0, None, None))
    bars, spans = drawn.options["series"]
    assert [each["value"] for each in bars["data"]] == [120.0, -1.0, 3.0]
    assert bars["data"][0]["tip"] == ["north", "120 ± 10"]
    assert bars["data"][1]["tip"] == ["south", "-1 ± 6"]
    assert spans["data"] == [[0, 110.0, 130.0], [1, -7.0, 5.0], [2, None, None]]
    assert drawn.options["yAxis"][1]["data"] == ["120 ± 10", "-1 ± 6", "3"]


def test_an_interval_that_is_not_around_its_value_has_both_ends():
    drawn = interval_bars([Interval(label="a", value=0.1, low=0.0, high=0.5)], title="Shares", share=True)
    assert drawn.options["yAxis"][1]["data"] == ["10.0 % (0.0 % to 50.0 %)"]
    assert "value" in drawn.share


def test_many_bars_are_zoomed_and_few_are_not():
    many = [Interval(label=str(n), value=float(n)) for n in range(100)]
    assert interval_bars(many, title="Many").zoom
    assert interval_bars(many, title="Many").height <= 720
    assert not interval_bars(many[:5], title="Few").zoom


def test_every_attack_is_shown_the_worst_first():
    found = [
        {"name": "linkability", "risk": 0.02, "low": 0.0, "high": 0.05},
        {"name": "membership, density ratio", "risk": 0.4, "low": 0.3, "high": 0.6},
        {"name": "exact copies", "risk": 0.0, "low": 0.0, "high": 0.0},
    ]
    drawn = attack_bars(found, worst="membership, density ratio", limit=0.1)
    assert [row[0] for row in drawn.rows] == ["membership, density ratio", "linkability", "exact copies"]
    assert drawn.options["xAxis"]["max"] == 1.0
    assert drawn.options["series"][0]["data"][0]["tip"][-1] == "the worst attack"
    assert drawn.options["series"][0]["markLine"]["data"][0]["xAxis"] == 0.1
    assert attack_bars(found[:1]).options["xAxis"]["max"] == 0.1


def test_two_sources_are_side_by_side_with_the_intervals_that_there_are():
    sources = {
        "released": [Interval(label="a", value=0.6, low=0.5, high=0.7)],
        "synthetic": [Interval(label="a", value=0.55)],
    }
    drawn = twin_bars(["a"], sources, title="Both", what="town", share=True)
    assert drawn.columns == ("town", "released", "released, from", "released, to", "synthetic")
    assert drawn.rows == (("a", 0.6, 0.5, 0.7, 0.55),)


def test_lines_leave_out_what_cannot_be_drawn():
    curve = Curve(label="spent", x=[0.0, 1.0, 10.0], y=[1.0, math.inf, 2.0])
    assert lines([curve], across="x", up="y", title="t").rows == ((0.0, 1.0), (10.0, 2.0))
    assert lines([curve], across="x", up="y", title="t", logarithmic=True).rows == ((10.0, 2.0),)


def test_a_level_is_inside_the_axis():
    drawn = lines([Curve(label="a", x=[0, 1], y=[0.1, 0.2])], across="x", up="y", title="t", level=("limit", 3.0))
    assert drawn.options["yAxis"]["max"] >= 3.0


def test_the_front_has_the_limit_names_and_intervals():
    points = [
        Point(label="1 tables", x=0.04, y=0.91, best=True),
        Point(label="2 rows", x=0.04, y=0.91),
        Point(label="3 a copy", x=1.0, y=1.0, kind="reference"),
    ]
    intervals = {"1 tables": (0.0, 0.1, 0.9, 0.92), "3 a copy": (None, None, None, None)}
    drawn = front(points, limit=0.1, intervals=intervals, joined=["1 tables"])
    releases, references, joined, spans = drawn.options["series"]
    assert releases["markLine"]["data"] == [{"xAxis": 0.1, "name": "largest risk allowed"}]
    assert [each["name"] for each in releases["data"]] == ["1 tables", "2 rows"]
    first, second = (each["label"]["offset"][1] for each in releases["data"])
    assert abs(first - second) >= 15  # names of points at one place do not cover each other
    assert [each["name"] for each in references["data"]] == ["3 a copy"]
    assert references["data"][0]["label"]["position"] == "left"
    assert joined["data"] == [[0.04, 0.91]]
    assert spans["data"][0] == [0.04, 0.91, 0.0, 0.1, 0.9, 0.92]
    assert drawn.rows[0] == ("1 tables", 0.04, 0.0, 0.1, 0.91, 0.9, 0.92)
    assert drawn.options["yAxis"]["min"] == pytest.approx(0.85)
