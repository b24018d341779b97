import csv
import io
import math

from tacita.console.look.charts import Chart, csv_of, figure, table_of

CHART = Chart(
    title="Shares of <b>",
    columns=("cell", "value", "share"),
    rows=(('a, "b"', 0.1 + 0.2, 1 / 3), ("<i>", None, float("nan"))),
    options={},
    share=frozenset({"share"}),
)


def test_the_file_has_all_digits_and_leaves_out_what_is_unknown():
    rows = list(csv.reader(io.StringIO(csv_of(CHART))))
    assert rows[0] == ["cell", "value", "share"]
    assert float(rows[1][1]) == 0.1 + 0.2
    assert float(rows[1][2]) == 1 / 3
    assert rows[1][0] == 'a, "b"'
    assert rows[2][1] == ""


def test_the_table_escapes_and_shows_shares_in_per_cent():
    shown = table_of(CHART)
    assert "<i>" not in shown
    assert "<b>" not in shown
    assert '<td class="num">33.33 %</td>' in shown
    assert shown.count("unknown") == 2


def test_numbers_of_any_size_are_short():
    assert [figure(each) for each in (0, 12.0, 12345.678, 1e-9, -3.14159, math.inf)] == [
        "0",
        "12",
        "12,346",
        "1e-09",
        "-3.142",
        "unknown",
    ]


def test_the_label_says_the_first_numbers_in_words():
    many = Chart(title="Many", columns=("cell", "value"), rows=tuple((f"c{n}", n) for n in range(30)), options={})
    assert many.label.startswith("Many: c0 0; c1 1;")
    assert many.label.endswith("; and 10 more")
