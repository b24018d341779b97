"""Tokens of the look: contrast in both themes, sizes of type, and parts that name no colour of their own."""

import re
from itertools import product
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[3] / "src" / "tacita" / "console" / "static"
TOKENS = (STATIC / "tokens.css").read_text(encoding="utf-8")
PARTS = (STATIC / "parts.css").read_text(encoding="utf-8")
COLOURS = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", TOKENS)
}
THEMES = {"light": 0, "dark": 1}


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_definition():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_words_are_clear_on_every_surface(theme):
    at = THEMES[theme]
    for ink, surface in product(("ink", "soft", "main", "good", "bad", "wait"), ("bg", "room", "raised")):
        assert contrast(COLOURS[ink][at], COLOURS[surface][at]) >= 4.5, (ink, surface)
    for meaning in ("main", "good", "bad", "wait"):
        assert contrast(COLOURS[meaning][at], COLOURS[f"{meaning}-room"][at]) >= 4.5, meaning
    for surface in ("main-room", "mark-faint", "mark-scale"):
        assert contrast(COLOURS["ink"][at], COLOURS[surface][at]) >= 4.5, surface
    assert contrast(COLOURS["main-ink"][at], COLOURS["main"][at]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_marks_are_clear_and_stronger_ones_are_clearer(theme):
    at = THEMES[theme]
    for mark in ("mark-1", "mark-2", "mark-3", "mark-4", "focus"):
        assert contrast(COLOURS[mark][at], COLOURS["bg"][at]) >= 3, mark
    ground = COLOURS["bg"][at]
    assert contrast(COLOURS["mark-1"][at], ground) > 2 * contrast(COLOURS["mark-faint"][at], ground)


def test_parts_take_colours_and_sizes_from_tokens():
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", PARTS)
    used = set(re.findall(r"var\(--([\w-]+)\)", PARTS))
    known = set(re.findall(r"--([\w-]+):", TOKENS))
    assert used <= known, used - known


def test_no_label_is_smaller_than_eleven_pixels():
    sizes = [float(each) * 16 for each in re.findall(r"--text-\w+: ([.\d]+)rem", TOKENS)]
    sizes += [float(each) for each in re.findall(r"font-size: ([.\d]+)px", PARTS)]
    sizes += [float(each) * 16 for each in re.findall(r"font-size: ([.\d]+)rem", PARTS)]
    assert len(sizes) >= 6
    assert min(sizes) >= 11
    drawn = [float(each) for each in re.findall(r"fontSize: (\d+)", (STATIC / "chart.js").read_text(encoding="utf-8"))]
    assert drawn
    assert min(drawn) >= 11
