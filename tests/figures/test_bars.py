"""Bars reach from 0 to their value, whatever its sign; a missing interval is not drawn."""

import re

from tacita.figures.bars import MOST_BARS, estimate_bars
from tacita.figures.charts import Interval


def rects(svg):
    return [
        (float(x), float(w)) for x, w in re.findall(r'<rect class="bar" x="([\d.]+)" y="\d+" width="([\d.]+)"', svg)
    ]


def test_lengths_are_proportional_and_negative_bars_lie_left_of_zero():
    svg = estimate_bars([Interval(label="a", value=2.0), Interval(label="b", value=-1.0)], title="t")
    (x_a, w_a), (x_b, w_b) = rects(svg)
    assert abs(w_a - 2 * w_b) < 0.2
    assert abs(x_b + w_b - x_a) < 0.11


def test_intervals_are_drawn_where_there_are_some():
    rows = [
        Interval(label="a", value=1.0, low=0.5, high=1.5),
        Interval(label="b", value=1.0, low=float("-inf"), high=9),
    ]
    assert estimate_bars(rows).count('class="err"') == 3
    assert "±" in estimate_bars(rows)


def test_both_ends_are_written_where_the_value_is_not_in_the_middle():
    svg = estimate_bars([Interval(label="a", value=0.2, low=0.1, high=0.6)], share=True)
    assert "±" not in svg
    assert "(10.0 % to 60.0 %)" in svg or "(10 % to 60 %)" in svg


def test_only_the_first_bars_are_drawn_and_no_bars_are_no_error():
    assert estimate_bars([Interval(label="x", value=1.0)] * 100).count("<rect") == MOST_BARS
    assert "<svg" in estimate_bars([])


def test_what_is_unknown_has_no_bar():
    svg = estimate_bars([Interval(label="a", value=float("nan"), low=0, high=1), Interval(label="b", value=1.0)])
    assert "unknown" in svg
    assert "nan" not in svg
    assert len(rects(svg)) == 1
