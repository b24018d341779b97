"""A figure stands alone: size, style, and nothing that it would fetch."""

import xml.etree.ElementTree as ET

import pytest

from tacita.errors import InvalidInput
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Curve, Interval, Point, curves, heatmap, interval_bars, scatter, twin_bars
from tacita.figures.flow_map import flow_map
from tacita.figures.picture import Picture
from tacita.models import draw_comparison, draw_network

PICTURE = Picture(interval_bars([Interval(label="a & b", value=0.5, low=0.4, high=0.6)], title="risk"))


NETWORK = {"a": (), "b": ("a",)}


@pytest.mark.parametrize(
    "svg",
    [
        PICTURE.svg,
        draw_network(NETWORK),
        draw_comparison({"one": NETWORK, "other": {"a": (), "b": ()}}),
        flow_map(["a", "<b>"], [(0, 1, 2.0)]),
        estimate_bars([Interval(label="<a>", value=-1.0)]),
        scatter([Point(label="a&b", x=0.1, y=0.2)], across="x", up="y"),
        curves([Curve(label="a", x=[0, 1], y=[0, 1])], across="x", up="y"),
        twin_bars([("a", 1.0, 2.0)], names=("<one>", "other")),
        heatmap(["a", "b"], [[0, 1], [1, 0]]),
    ],
)
def test_every_kind_of_figure_is_an_image_by_itself(svg):
    root = ET.fromstring(Picture(svg).standalone)
    assert (root.get("class"), float(root.get("height")) > 0) == ("tacita-figure", True)


def test_it_is_an_image_by_itself():
    root = ET.fromstring(PICTURE.standalone)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width")) > 0
    style = root.find("{http://www.w3.org/2000/svg}style").text
    rules = [rule for rule in style.split("}") if rule.strip()]
    assert all(
        selector.strip().startswith(".tacita-figure") for rule in rules for selector in rule.split("{")[0].split(",")
    )
    assert "http" not in PICTURE.standalone.replace("http://www.w3.org/2000/svg", "")


def test_notebooks_and_files_get_the_same(tmp_path):
    PICTURE.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == PICTURE._repr_svg_() == PICTURE.standalone
    with pytest.raises(InvalidInput, match=r"must end in \.svg"):
        PICTURE.save(tmp_path / "a.png")


def test_only_our_figures_are_taken():
    with pytest.raises(InvalidInput, match="must be a figure"):
        _ = Picture("<script>").standalone
