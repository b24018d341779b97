import re
from xml.etree import ElementTree

import pytest

from tacita.errors import TacitaError
from tacita.models import draw_comparison, draw_network

DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "alone": ()}


def boxes(svg):
    root = ElementTree.fromstring(svg)
    space = {"s": root.tag.split("}")[0][1:]} if "}" in root.tag else {}
    assert not space
    return {
        group.find("title").text: tuple(float(group.find("rect").get(side)) for side in ("x", "y", "width", "height"))
        for group in root.findall("g")
    }


def test_every_attribute_has_a_box_and_every_edge_an_arrow():
    svg = draw_network(DIAMOND)
    found = boxes(svg)
    assert set(found) == set(DIAMOND)
    assert svg.count("marker-end=") == 4
    assert "script" not in svg
    assert "http" not in svg


def test_parents_stand_above_children_and_boxes_do_not_overlap():
    wide = {f"n{i}": () if i < 3 else (f"n{i % 3}", f"n{i - 1}") for i in range(12)}
    for parents in (DIAMOND, wide):
        found = boxes(draw_network(parents))
        for child, above in parents.items():
            assert all(found[parent][1] + found[parent][3] < found[child][1] for parent in above)
        placed = list(found.values())
        for place, (x, y, w, h) in enumerate(placed):
            assert all(x + w <= u or u + w <= x or y + h <= v or v + h <= y for u, v, _, _ in placed[:place])


def test_the_heaviest_arrow_is_the_widest():
    svg = draw_network({"a": (), "b": ("a",), "c": ("a",)}, weights={("a", "b"): 0.1, ("a", "c"): 0.4})
    widths = [float(width) for width in re.findall(r'stroke-width="([\d.]+)"', svg)]
    assert widths == [1.4, 3.2]


def test_names_are_text_not_markup():
    svg = draw_network({"<b>&": (), "a very long name of an attribute": ("<b>&",)})
    assert set(boxes(svg)) == {"<b>&", "a very long name of an attribute"}
    assert "a very long name…" in svg


def test_bad_input():
    for parents in ({}, {"a": ("b",), "b": ("a",)}, {"a": ("nobody",)}):
        with pytest.raises(TacitaError):
            draw_network(parents)


def test_labels_are_drawn_and_read_aloud():
    svg = draw_network(DIAMOND, labels={("a", "b"): "87 % <b>", ("x", "y"): "elsewhere"})
    texts = [text.text for text in ElementTree.fromstring(svg).findall("text")]
    assert texts == ["87 % <b>"]
    assert "b follows a (87 % " in ElementTree.fromstring(svg).get("aria-label")
    assert "elsewhere" not in svg


def test_a_comparison_shows_the_status_of_each_link_and_a_legend():
    networks = {
        "one": {"a": (), "b": ("a",), "c": ("b",), "<d>": ("a", "c")},
        "two": {"a": ("c",), "b": ("a", "c"), "c": (), "<d>": ()},
    }
    svg = draw_comparison(networks)
    assert set(boxes(svg)) == set(networks["one"])
    root = ElementTree.fromstring(svg)
    titles = [path.find("title").text for path in root.findall("path") if path.find("title") is not None]
    assert titles[0] == "a to b: one, two"
    assert set(titles[1:3]) == {"b to c: one", "c to b: two"}
    assert len(titles) == 6
    for status, count in (("common", 1), ("discordant", 2), ("uncommon", 3)):
        assert svg.count(f"url(#tip-{status})") == count
        assert any(text.text.startswith(f"{status}:") for text in root.findall("text"))
    height, deepest = float(root.get("viewBox").split()[3]), max(y + h for _, y, _, h in boxes(svg).values())
    assert all(deepest < float(text.get("y")) < height for text in root.findall("text"))
    assert "script" not in svg


def test_a_comparison_needs_two_networks():
    with pytest.raises(TacitaError):
        draw_comparison({"one": DIAMOND})


@pytest.mark.parametrize("count", [2, 5, 9, 20])
def test_boxes_of_a_comparison_do_not_overlap(count):
    names = [f"n{place}" for place in range(count)]
    one = {name: tuple(names[:place][-1:]) for place, name in enumerate(names)}
    svg = draw_comparison({"one": one, "two": dict.fromkeys(names, ())})
    placed, root = list(boxes(svg).values()), ElementTree.fromstring(svg)
    wide = float(root.get("viewBox").split()[2])
    for place, (x, y, w, h) in enumerate(placed):
        assert x >= 0
        assert x + w <= wide
        assert all(x + w <= u or u + w <= x or y + h <= v or v + h <= y for u, v, _, _ in placed[:place])
