from xml.etree import ElementTree

from tacita.figures.charts import Curve, Interval, Point, curves, heatmap, interval_bars, scatter, twin_bars


def parsed(svg):
    assert "<script" not in svg
    assert "http" not in svg
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label")
    return root


def test_bars_are_as_long_as_their_values():
    root = parsed(
        interval_bars([Interval(label="<a>", value=0.5, low=0.4, high=0.6), Interval(label="b", value=2.0)], title="x")
    )
    widths = [float(bar.get("width")) for bar in root.findall("rect")]
    assert widths == [190.0, 380.0]  # half, and all: what is beyond is cut off
    ends = [line for line in root.findall("line") if line.get("class") == "err"]
    assert len(ends) == 3
    assert "0.5 (0.4 to 0.6)" in root.get("aria-label")


def test_twins_share_a_scale():
    root = parsed(twin_bars([("a", 1.0, 0.5), ("b", 0.0, 0.25)], names=("real", "released")))
    bars = {
        style: [float(r.get("width")) for r in root.findall("rect") if r.get("class") == style]
        for style in ("bar", "second")
    }
    assert bars["bar"][1:] == [380.0, 0.5]
    assert bars["second"][1:] == [190.0, 95.0]
    assert parsed(twin_bars([], names=("a", "b"))) is not None


def test_heatmap_is_darker_where_larger():
    root = parsed(heatmap(["a", "b"], [[1.0, 0.2], [float("nan"), 0.0]]))
    shades = [float(square.get("fill-opacity")) for square in root.findall("rect")]
    assert shades[0] == 1.0
    assert shades[0] > shades[1] > shades[2] == shades[3]


def test_scatter_joins_the_best():
    points = [
        Point(label="far", x=0.9, y=0.2),
        Point(label="one", x=0.1, y=0.6, best=True),
        Point(label="two", x=0.4, y=0.9, best=True),
        Point(label="copy", x=1.5, y=1.0, kind="reference"),
    ]
    root = parsed(scatter(points, across="risk", up="kept"))
    line = root.find("polyline").get("points").split()
    assert len(line) == 2
    assert float(line[0].split(",")[0]) < float(line[1].split(",")[0])
    marks = root.findall("circle")
    assert [mark.get("class") for mark in marks].count("best") == 2
    assert all(60 <= float(mark.get("cx")) <= 520 for mark in marks)
    high = parsed(scatter([Point(label="a", x=0.1, y=0.72), Point(label="b", x=0.2, y=0.98)], across="risk", up="kept"))
    heights = [float(mark.get("cy")) for mark in high.findall("circle")]
    assert max(heights) - min(heights) > 300  # the axis begins near to what there is
    assert "0.7" in [text.text for text in high.findall("text")]


def points_of(root, style):
    found = [line.get("points") for line in root.findall("polyline") if line.get("class") == style]
    return [[tuple(map(float, point.split(","))) for point in each.split()] for each in found]


def test_curves_share_their_axes():
    root = parsed(
        curves(
            [Curve(label="a", x=[1, 10, 100], y=[0.0, 5.0, 10.0]), Curve(label="<b>", x=[1, 100], y=[10.0, 10.0])],
            across="n",
            up="error",
            title="t",
            logarithmic=True,
            most=10.0,
        )
    )
    assert points_of(root, "curve") == [[(64.0, 274.0), (324.0, 154.0), (584.0, 34.0)]]  # a factor of ten is half
    assert points_of(root, "curve-second") == [[(64.0, 34.0), (584.0, 34.0)]]
    assert "a from 0 to 10" in root.get("aria-label")


def test_steps_stay_until_the_next_and_bands_surround():
    root = parsed(
        curves(
            [Curve(label="spent", x=[0, 1, 2], y=[0.0, 1.0, 2.0], low=[0, 0, 1], high=[1, 2, 2.0], steps=True)],
            across="time",
            up="epsilon",
            level=("budget", 2.0),
            most=2.0,
            at=1.0,
            ends=("May", "June"),
        )
    )
    heights = [y for _, y in points_of(root, "curve")[0]]
    assert heights == [274.0, 274.0, 154.0, 154.0, 34.0]
    assert len(root.find("polygon").get("points").split()) == 6
    assert "budget at 2" in root.get("aria-label")
    assert {"May", "June"} <= {text.text for text in root.findall("text")}


def test_axes_have_short_numbers():
    root = parsed(curves([Curve(label="a", x=[1000, 1_000_000], y=[0.0, 74_434.0])], across="n", up="money"))
    shown = {text.text for text in root.findall("text")}
    assert {"20k", "40k", "60k", "80k", "1k", "1M"} <= shown
    heights = [y for _, y in points_of(root, "curve")[0]]
    assert heights[1] > 34.0  # below the end of the axis


def test_nothing_to_draw_is_an_empty_frame():
    assert parsed(curves([Curve(label="a", x=[], y=[])], across="x", up="y")) is not None
    assert parsed(curves([Curve(label="a", x=[1.0], y=[float("nan")])], across="x", up="y")) is not None
