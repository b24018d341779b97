"""Tap records on the command line, as a user runs it."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from ..conftest import run

SCHEMA = ("-s", "city/schema.yaml", "--places", "city/places.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    assert run("mobility", "simulate", "-f", "city", "--cards", "300", "--held", "300").code == 0
    run("budget", "open", "city", "--epsilon", "4", "--unit", "person:card:20")
    return tmp_path


def spent():
    return json.loads(run("budget", "show", "city", "--json").out)[0]["spent"]


def generate(*more):
    return run("mobility", "generate", "city/taps.csv", *SCHEMA, "-o", "out.parquet", *more)


def test_records_are_planned_paid_and_written(folder):
    plan = ("-a", "city", "--epsilon", "1", "--people", "300")
    shown = generate(*plan, "--dry-run")
    assert shown.code == 0, shown.err
    assert "popularity" in shown.out
    assert json.loads(generate(*plan, "--dry-run", "--json").out)["cost"] == pytest.approx(1, abs=1e-3)
    assert spent() == 0
    shown = generate(*plan, "-n", "200", "--key", "once", "--model", "m.json", "--statement", "s.json")
    assert shown.code == 0, shown.err
    assert "central" in shown.out
    assert spent() == pytest.approx(1, abs=1e-3)
    assert len(set(pq.read_table("out.parquet")["card"].to_pylist())) == 200
    again = json.loads(generate(*plan, "--key", "once", "--json").out)
    assert spent() == pytest.approx(1, abs=1e-3), "the same key again costs nothing"
    assert again["guarantee"] == "central"
    assert "model" not in again
    assert run("verify", "s.json").code == 0
    more = run("mobility", "draw", "m.json", "-n", "10", "-o", "more.csv")
    assert more.code == 0, more.err
    assert len(set(pa_csv.read_csv("more.csv")["card"].to_pylist())) == 10
    assert spent() == pytest.approx(1, abs=1e-3)
    (folder / "bad.json").write_text("{}")
    assert run("mobility", "draw", "bad.json", "-n", "1", "-o", "x.csv").code == 2


def test_the_baseline_and_gaussian_noise():
    run("budget", "open", "both", "--epsilon", "4", "--delta", "1e-5", "--unit", "person:card:20")
    shown = generate("-a", "both", "--epsilon", "1", "--delta", "1e-6", "--method", "od", "--json")
    assert shown.code == 0, shown.err
    assert "Every trip" in json.loads(shown.out)["notes"][0]


def test_the_unprotected_generator_says_so():
    shown = generate("--unprotected", "-k", "3")
    assert shown.code == 0, shown.err
    assert "No guarantee" in shown.out
    assert spent() == 0
    assert json.loads(generate("--unprotected", "-k", "3", "--json").out)["guarantee"] == "none"
    assert generate("--unprotected", "--epsilon", "1").code == 2
    assert generate("--epsilon", "1").code == 2, "no account"


def test_nothing_is_paid_for_a_bad_request():
    run("budget", "open", "rows", "--epsilon", "4")
    assert generate("-a", "rows", "--epsilon", "1").code != 0
    assert generate("-a", "city", "--epsilon", "9").code == 5
    bad = run("mobility", "generate", "city/taps.csv", *SCHEMA, "-a", "city", "--epsilon", "1", "-o", "out.txt")
    assert bad.code == 2
    wrong = generate("-a", "city", "--epsilon", "1", "--columns", "origin")
    assert wrong.code == 2
    assert spent() == 0


def test_communities_have_places_times_and_a_page(folder):
    shown = run(
        "mobility",
        "communities",
        "city/taps.csv",
        *SCHEMA,
        "-k",
        "3",
        "--sweeps",
        "80",
        "--chains",
        "2",
        "--louvain",
        "--report",
        "page.html",
    )
    assert shown.code == 0, shown.err
    assert "No guarantee" in shown.out
    assert "Louvain" in shown.out
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 1 + 2 * 3
    assert "no guarantee" in page
    plain = run(
        "mobility", "communities", "city/taps.csv", *SCHEMA, "-k", "2", "--sweeps", "80", "--kind", "tlda", "--json"
    )
    found = json.loads(plain.out)
    assert found["guarantee"] == "none"
    assert len(found["communities"]) == 2
    more = ("-k", "2", "--sweeps", "80", "--only", "weekends", "--json")
    weekend = json.loads(run("mobility", "communities", "city/taps.csv", *SCHEMA, *more).out)
    assert 0 < weekend["cards"] < found["cards"]


def test_released_records_are_assessed(folder):
    found = run(
        "mobility",
        "assess",
        "city/taps.csv",
        "--real",
        "city/taps.csv",
        "--control",
        "city/held.csv",
        *SCHEMA,
        "--attempts",
        "60",
        "-k",
        "3",
        "--report",
        "page.html",
    )
    assert found.code == 0, found.err
    assert "exact copies" in found.out
    assert "Assessment of tap records" in (folder / "page.html").read_text()
    plain = run("mobility", "assess", "city/held.csv", "--real", "city/taps.csv", *SCHEMA, "--attempts", "60", "--json")
    assert json.loads(plain.out)["travel"]["distances"]["pairs"] > 0


def test_raw_records_are_prepared(folder):
    (folder / "raw.csv").write_text(
        "CARD_NUMBER,TRANSPORT_MODE,ENTRY_DATE,ENTRY_TIME,EXIT_DATE,EXIT_TIME,from,to\n"
        "1,rail,01/08/2011,07:05:00,01/08/2011,07:40:00,A,B\n"
        "1,rail,02/08/2011,08:05:00,,,A,\n"
    )
    shown = run(
        "mobility",
        "prepare",
        "raw.csv",
        "-o",
        "taps.csv",
        "-s",
        "draft.yaml",
        "--columns",
        "origin=from,destination=to",
    )
    assert shown.code == 0, shown.err
    assert "schema confirm" in shown.out
    rows = pa_csv.read_csv("taps.csv").to_pylist()
    assert rows[0]["entry_time"] == 425
    assert run("schema", "confirm", "draft.yaml", "--yes").code == 0
    found = run("mobility", "communities", "taps.csv", "-s", "draft.yaml", "-k", "2", "--sweeps", "80", "--json")
    assert found.code == 0, found.err
    assert run("mobility", "prepare", "raw.csv", "-o", "taps.csv", "-s", "draft.yaml").code == 2
