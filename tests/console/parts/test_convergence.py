from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pytest

from tacita.collect.estimating.tally import simulate
from tacita.collect.planning.plan import plan_collection
from tacita.console.parts.convergence import Watch, bars, half_width, stop_advice
from tacita.domain import Boolean, Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Boolean(name="smokes"), Categorical(name="region", levels=["n", "s"])])
TABLES = [("smokes", "region"), ("smokes",), ("region",)]
STOP = {"half_width": 0.05, "level": 0.95, "simultaneous": True, "planned": 6000, "tables": [["smokes", "region"]]}


def collected(people: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    rows = pa.table({"smokes": rng.random(people) < 0.3, "region": rng.choice(["n", "s"], people)})
    workload = Workload.of(["smokes", "region"])
    design = plan_collection(DOMAIN, workload, respondents=people, epsilon=2.0, mode="tables")
    return simulate(design, LocalEngine(DOMAIN, rows), SeededSource(seed)).releases()


def terms(**changes):
    return {"minimum": 100, "stop": None} | changes


def test_pace_is_read_off_the_last_looks():
    watch = Watch()
    assert watch.pace() == 0.0
    assert watch.look(0.0, 10)
    assert watch.pace() == 0.0
    for second in range(1, 11):
        assert watch.look(float(second), 10 + 5 * second)
    assert watch.pace() == pytest.approx(5.0)
    assert not watch.look(20.0, 60)


def test_widths_fall_and_the_forecast_meets_them():
    watch = Watch()
    few, many = collected(1000), collected(16_000)
    watch.note(1000, few)
    watch.note(16_000, many)
    watch.note(16_000, many)  # looked again, nothing new
    seen, ahead = watch.curves(TABLES[0])
    assert list(seen.x) == [1000, 16_000]
    assert seen.y[1] == pytest.approx(half_width(many[TABLES[0]]))
    assert ahead.y[0] == pytest.approx(seen.y[0], rel=0.15)  # sixteen times as many: a quarter as wide
    assert ahead.x[-1] == pytest.approx(64_000)
    assert Watch().curves(TABLES[0]) == []


def test_bars_name_every_cell():
    shown = bars(collected(2000)[TABLES[0]])
    assert [each.label for each in shown] == ["false, n", "false, s", "true, n", "true, s"]
    assert all(0 <= each.low <= each.value <= each.high <= 1 for each in shown)


def test_advice_before_the_minimum_names_what_is_missing():
    said = stop_advice(None, terms(), 3, TABLES)
    assert "after 100 answers" in said
    assert "smokes x region" in said
    assert "closed" in stop_advice(None, terms(), 3, TABLES, "closed")


def test_advice_is_right_about_how_many_more():
    releases = collected(2000)
    said = stop_advice(releases, terms(stop=STOP), 2000, TABLES)
    more = int(re.search(r"about ([\d,]+) more", said)[1].replace(",", ""))
    assert "There are enough reports" in stop_advice(collected(2000 + more), terms(stop=STOP), 2000 + more, TABLES)
    assert "There are enough reports" not in stop_advice(
        collected(2000 + more // 4), terms(stop=STOP), 2000 + more // 4, TABLES
    )


def test_advice_without_a_rule_says_how_wide_it_is():
    releases = collected(2000)
    widest = max(half_width(release) for release in releases.values())
    assert f"± {widest:.3g}." in stop_advice(releases, terms(), 2000, TABLES)
    assert math.isfinite(widest)
