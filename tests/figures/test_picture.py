"""A figure stands alone: size, style, and nothing that it would fetch."""

import xml.etree.ElementTree as ET

import pytest

from tacita.errors import InvalidInput
from tacita.figures.charts import Interval, interval_bars
from tacita.figures.picture import Picture

PICTURE = Picture(interval_bars([Interval(label="a & b", value=0.5, low=0.4, high=0.6)], title="risk"))


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
