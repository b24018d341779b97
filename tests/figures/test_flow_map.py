"""A map of flows: everything that is drawn is named, nothing breaks out of its attribute."""

import re
import xml.etree.ElementTree as ET

from tacita.figures.flow_map import flow_map

NAMES = ["North", "South <&>", "East"]
FLOWS = [(0, 1, 10.0), (1, 0, 4.0), (2, 2, 50.0), (0, 2, 0.0)]


def drawn(text):
    root = ET.fromstring(text)
    return [each for each in root.iter() if each.tag.endswith("path")], root


def test_flows_are_drawn_by_weight_and_named():
    paths, root = drawn(flow_map(NAMES, FLOWS, points=[(0, 0), (3, 4), (6, 0)], title="a map"))
    assert len(paths) == 2, "no flow of a place to itself, and none of weight 0"
    widths = [float(path.get("stroke-width")) for path in paths]
    assert widths == sorted(widths), "the heaviest on top"
    assert "South <&> to North: 4" in [path[0].text for path in paths]
    assert root.get("aria-label").startswith("a map: North to South <&> 10")
    assert {text.text for text in root.iter() if text.tag.endswith("text")} <= set(NAMES)


def test_places_lie_on_the_page_north_up():
    _, root = drawn(flow_map(NAMES, FLOWS, points=[(0, 0), (3, 4), (6, 0)]))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter() if c.tag.endswith("circle")]
    assert circles[1][1] < circles[0][1]
    assert circles[0][0] < circles[1][0] < circles[2][0]
    size = float(root.get("viewBox").split()[2])
    assert all(0 <= x <= size and 0 <= y <= size for x, y in circles)


def test_without_coordinates_places_are_on_a_circle():
    _, root = drawn(flow_map([f"p{i}" for i in range(30)], [(0, 1, 1.0)]))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter() if c.tag.endswith("circle")]
    middle = float(root.get("viewBox").split()[2]) / 2
    radii = {round(((x - middle) ** 2 + (y - middle) ** 2) ** 0.5) for x, y in circles}
    assert len(radii) == 1


def test_only_the_heaviest_are_drawn():
    flows = [(0, 1, float(weight)) for weight in range(1, 50)]
    paths, _ = drawn(flow_map(["a", "b"], flows, most=5))
    assert len(paths) == 5
    assert not re.search("nan|inf", flow_map(["a", "b"], []))


def test_names_stay_on_the_page():
    _, root = drawn(flow_map(["a", "a long name of a place"], [(0, 1, 1.0)], points=[(0, 0), (10, 0)]))
    ends = {text.text: text.get("text-anchor") for text in root.iter() if text.tag.endswith("text")}
    assert ends == {"a": None, "a long name of a place": "end"}
