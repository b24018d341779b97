"""The page of all figures: what each line states, and what a goal that is not met looks like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.page import write_page
from bench.rows import Row, report

from bench import rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rows, "OUT", tmp_path)
    report(
        "speed",
        [
            Row(bar="tables <of> pairs", ours=1.0, peer=4.0, peer_name="numpy", unit="CPU s", goal="<= 0.5"),
            Row(bar="memory", ours=900.0, unit="MB", goal="<= 500", note="peak of a process"),
            Row(bar="only shown", ours=float("nan"), unit=""),
        ],
        quick=True,
        seconds=12.3,
    )
    return tmp_path


def test_a_page_states_ratios_goals_and_the_machine(folder: Path) -> None:
    page = write_page(folder).read_text(encoding="utf-8")
    assert "tables &lt;of&gt; pairs" in page
    assert "<td class=n>0.25</td>" in page
    assert '<td class="yes">yes</td>' in page
    assert '<td class="no">no</td>' in page
    assert "1 of 2 goals are met" in page
    assert "quick form, 12 s" in page
    assert "peak of a process" in page
    assert "numpy" in page
    assert "nan" not in page
    assert "http" not in page  # needs no network


def test_a_bar_grows_with_the_logarithm_of_the_ratio(folder: Path) -> None:
    bars = {0.1: (33.3, 16.7), 1.0: (50.0, 0.0), 1000.0: (50.0, 50.0), 1e9: (50.0, 50.0)}
    report("ratios", [Row(bar=str(ratio), ours=ratio, peer=1.0, unit="") for ratio in bars])
    page = write_page(folder).read_text(encoding="utf-8")
    for left, width in bars.values():
        assert f"left:{left}%;width:{width}%" in page


def test_runs_of_earlier_benches_are_kept(folder: Path) -> None:
    report("later", [Row(bar="one", ours=1.0, unit="")])
    runs = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    assert set(runs) == {"speed", "later"}
    assert runs["speed"]["seconds"] == 12
    assert {"python", "numpy", "tacita"} <= set(runs["speed"]["versions"])


def test_an_empty_folder_has_a_page_too(tmp_path: Path) -> None:
    assert "0 figures of 0 benches" in write_page(tmp_path).read_text(encoding="utf-8")
