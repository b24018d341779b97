"""Rows that commands write into databases, as a user runs them; nothing is charged for a place that refuses them."""

import json

import psycopg
import pytest
from tests.support.mongo import MongoServer

from ..conftest import run

pytestmark = pytest.mark.postgres

SECRET = "hunter2"
SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true, role: quasi-identifier}
- {name: sex, kind: categorical, levels: [f, m], role: quasi-identifier}
- {name: ill, kind: categorical, levels: [flu, cold], role: sensitive}
"""
ROWS = ["anonymize --k 5", "mask --pram sex=0.8", "synthesize -a people --epsilon 0.5 -n 40", "model draw"]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rows = "".join(f"{i % 80},{'fm'[i % 2]},{('flu', 'cold')[i // 2 % 2]}\n" for i in range(800))
    (tmp_path / "people.csv").write_text("age,sex,ill\n" + rows)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    assert run("budget", "open", "people", "--epsilon", "2").code == 0
    return tmp_path


def made(verb, *more):
    name, *options = verb.split()
    if name == "model":
        model = ("synthesize", "people.csv", "-s", "people.yaml", "-a", "people", "--epsilon", "0.5", "-n", "1")
        assert run(*model, "-o", "one.csv", "--model", "m.json").code == 0
        return run("model", "draw", "m.json", "-n", "40", *more)
    return run(name, "people.csv", "-s", "people.yaml", *options, *more)


def spent():
    return json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]


def count(url, table):
    with psycopg.connect(url) as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return rows


def tables(url):
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]


@pytest.mark.parametrize("verb", ROWS)
def test_rows_go_into_a_new_table(postgres_url, verb):
    shown = made(verb, "-o", postgres_url, "--into", "public.made")
    assert shown.code == 0, shown.err
    assert count(postgres_url, "made") == (40 if "-n" in verb or verb == "model draw" else 800)
    assert "postgresql://" not in shown.out + shown.err
    paid = spent()
    again = made(verb, "-o", postgres_url, "--into", "public.made")
    assert again.code == 2
    assert "exists already" in again.err
    assert spent() == paid + (0.5 if verb == "model draw" else 0)  # that it is made of costs, each time


@pytest.mark.parametrize("verb", ROWS)
def test_rows_go_into_a_new_collection(verb):
    with MongoServer() as server:
        shown = made(verb, "-o", server.url("test"), "--into", "made")
        assert shown.code == 0, shown.err
        assert list(server._states) == [("test", "made")]
        assert "exists already" in made(verb, "-o", server.url("test"), "--into", "made").err


def test_the_report_names_the_table_and_no_password(folder, postgres_url):
    address = postgres_url.replace("postgres@", f"postgres:{SECRET}@")
    for verb in ROWS[:3]:
        table = f"made_{verb.split()[0]}"
        shown = made(verb, "-o", address, "--into", table, "--report", "r.html", "--json")
        assert shown.code == 0, shown.err
        page = (folder / "r.html").read_text()
        assert table in page
        assert SECRET not in page + shown.out + shown.err
        assert "postgresql://" not in page
    for kept in (folder / "home").rglob("*"):
        assert not kept.is_file() or SECRET.encode() not in kept.read_bytes()


def test_places_that_cannot_be_written_to_cost_nothing(postgres_url):
    dead = f"postgresql://user:{SECRET}@127.0.0.1:1/db?connect_timeout=2"
    for output, into, rule in (
        (postgres_url, None, "needs the name of a new table"),
        (postgres_url, "absent.made", "no such schema"),
        (postgres_url, "a.b.c", "must be a table"),
        (postgres_url, "x" * 64, "63 bytes"),
        (dead, "made", "cannot be reached"),
        ("rows.csv", "made", "only a database has tables"),
        ("s3://bucket/rows.csv", None, "must be a file or postgresql://"),
        ("rows.txt", None, "must end in"),
    ):
        shown = made(ROWS[2], "-o", output, *(() if into is None else ("--into", into)))
        assert shown.code != 0
        assert rule in " ".join(shown.err.split())
        assert SECRET not in shown.err + shown.out
    assert spent() == 0
    assert tables(postgres_url) == []


def test_columns_that_the_database_cannot_have_cost_nothing(postgres_url):
    shown = made(ROWS[2], "-o", postgres_url, "--into", "made", "--key-column", "k" * 64)
    assert "63 bytes" in shown.err
    assert spent() == 0


def test_a_folder_of_parts_is_no_table(postgres_url):
    shown = made(ROWS[2], "-o", postgres_url, "--into", "made", "--parts", "3")
    assert "no folder of parts" in shown.err
    assert spent() == 0


def test_a_statement_of_rows_in_a_table_names_no_file(folder, postgres_url):
    shown = made(ROWS[2], "-o", postgres_url, "--into", "made", "--statement", "s.json")
    assert shown.code == 0, shown.err
    text = (folder / "s.json").read_text()
    assert "differential privacy" in text
    assert postgres_url not in text
    assert run("verify", "s.json").code == 0
