from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_data_path

from tacita.errors import InvalidInput
from tacita.settings import Grant, OpenIdSettings, Settings, SourceSettings

DOCUMENT = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
SECRET = "hunter2"
URL = f"postgresql://reader:{SECRET}@db.example/hospital"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TACITA_HOME", raising=False)
    settings = Settings.load()
    home = user_data_path("tacita", appauthor=False)
    assert settings.state_url == f"sqlite:///{home}/state.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 8642)
    assert settings.queue_file == home / "jobs.db"
    assert settings.sources == {}


def test_the_ledger_is_the_same_in_every_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TACITA_HOME", raising=False)
    here = Settings.load().state_url
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Settings.load().state_url == here
    assert Path(here.removeprefix("sqlite:///")).is_absolute()


def test_a_ledger_of_an_earlier_version_is_not_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TACITA_HOME", raising=False)
    (tmp_path / ".tacita").mkdir()
    (tmp_path / ".tacita" / "state.db").touch()
    with pytest.raises(InvalidInput, match="earlier version"):
        Settings.load()
    monkeypatch.setenv("TACITA_HOME", ".tacita")
    assert Settings.load().state_url == "sqlite:///.tacita/state.db"


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tacita.toml").write_text('port = 9000\nlog_level = "error"\n')
    monkeypatch.setenv("TACITA_PORT", "9001")
    settings = Settings.load()
    assert (settings.port, settings.log_level) == (9001, "error")


def test_the_file_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(f'[sources.patients]\nurl = "{URL}"\ntable = "patients"\n')
    monkeypatch.setenv("TACITA_CONFIG", str(tmp_path / "other.toml"))
    assert Settings.load().sources["patients"].address == URL


def test_a_source_can_be_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACITA_SOURCES__PATIENTS__URL", URL)
    monkeypatch.setenv("TACITA_SOURCES__PATIENTS__TABLE", "patients")
    assert Settings.load().sources["patients"].table == "patients"


def test_credentials_are_not_shown() -> None:
    settings = Settings.load(state=URL, sources={"patients": {"url": URL, "table": "patients"}})
    for shown in (repr(settings), str(settings), settings.model_dump_json(), repr(settings.sources)):
        assert SECRET not in shown


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"port": 0}, "port"),
        ({"port": "many"}, "port"),
        ({"log_level": "loud"}, "log_level"),
        ({"rate_limit": -1}, "rate_limit"),
        ({"colour": "red"}, "colour"),
        ({"sources": {"a": {}}}, "sources.a"),
        ({"sources": {"a": {"url": URL}}}, "sources.a"),
        ({"sources": {"a": {"path": "x.csv", "table": "t"}}}, "sources.a"),
        ({"sources": {"a": {"path": "/etc/passwd"}}}, "sources.a.path"),
        ({"sources": {"a": {"path": "../x.csv"}}}, "sources.a.path"),
        ({"sources": {"a": {"path": "x.csv"}, "b": {"path": "./y/../x.csv"}}}, "sources.b"),
        (
            {
                "sources": {
                    "a": {"url": URL, "table": "t"},
                    "b": {"url": URL.replace("reader", "me"), "table": "t"},
                }
            },
            "sources.b",
        ),
        ({"sources": {"a": {"url": "postgresql://[h/db", "table": "t"}}}, "sources.a"),
        ({"max_cells": 0}, "max_cells"),
    ],
)
def test_a_bad_setting_is_named(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.load(**given)
    assert caught.value.field == field
    assert "TACITA_" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        {"url": "postgresql://DB.Example/hospital", "table": "people"},
        {"url": "postgresql://db.example:5432/hospital", "table": "people"},
        {"url": "postgres://db.example./hospital?sslmode=require&application_name=x", "table": "people"},
        {"url": "postgresql:///hospital?host=db.example", "table": "people"},
        {"url": "postgresql://hospital@db.example/", "table": "people"},
        {"url": "postgresql://other@db.example/hospital", "table": "public.people"},
        {"url": "postgresql://db.example/hosp%69tal", "table": 'public."people"'},
    ],
)
def test_a_table_has_one_name(other: dict[str, str]) -> None:
    first = {"url": "postgresql://db.example/hospital", "table": "people"}
    with pytest.raises(InvalidInput, match=r"sources\.b: is the same data as the source 'a'"):
        Settings.load(sources={"a": first, "b": other})


@pytest.mark.parametrize(
    "other",
    [
        {"url": "postgresql://db.example/hospital", "table": "People"},
        {"url": "postgresql://db.example/hospital", "table": "old.people"},
        {"url": "postgresql://db.example/hospital?options=-csearch_path%3Dold", "table": "people"},
        {"url": "postgresql://db.example:5433/hospital", "table": "people"},
        {"url": "postgresql://db.example/Hospital", "table": "people"},
    ],
)
def test_other_tables_are_other_data(other: dict[str, str]) -> None:
    first = {"url": "postgresql://db.example/hospital", "table": "people"}
    assert len(Settings.load(sources={"a": first, "b": other}).sources) == 2


@pytest.mark.parametrize(("one", "other"), [("d", "d/p.csv"), ("d/p.csv", "d"), ("d", "d/e"), ("link/p.csv", "d")])
def test_a_file_and_its_folder_are_the_same_data(tmp_path: Path, one: str, other: str) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "d")
    with pytest.raises(InvalidInput, match=r"sources\.b: is the same data as the source 'a', or a part of it"):
        Settings.load(sources={"a": {"path": one}, "b": {"path": other}})
    assert len(Settings.load(sources={"a": {"path": "d/p.csv"}, "b": {"path": "d/p.csv2"}}).sources) == 2


def test_a_link_in_a_folder_cannot_lead_out_of_it(tmp_path: Path) -> None:
    for folder in ("data/in", "out"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "out" / "secret.csv").write_text("x\n1\n")
    given = {"data_folders": [tmp_path / "data"], "sources": {"a": {"path": tmp_path / "data" / "in"}}}
    (tmp_path / "data" / "here.csv").write_text("x\n1\n")
    (tmp_path / "data" / "in" / "inner.csv").symlink_to(tmp_path / "data" / "here.csv")
    assert Settings.load(**given).sources
    (tmp_path / "data" / "in" / "outer.csv").symlink_to(tmp_path / "out" / "secret.csv")
    with pytest.raises(InvalidInput, match=r"sources\.a\.path: must lie in one of `data_folders`"):
        Settings.load(**given)


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACITA_SOURCES", "{")
    with pytest.raises(InvalidInput, match="sources: must be JSON"):
        Settings.load()


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACITA_CONFIG", "nowhere.toml")
    with pytest.raises(InvalidInput, match="TACITA_CONFIG: no such file"):
        Settings.load()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tacita.toml").write_text("port = ")
    with pytest.raises(InvalidInput, match=r"is not TOML.*tacita\.toml"):
        Settings.load()


NAMES = {
    *Settings.model_fields,
    *(f"sources.NAME.{name}" for name in SourceSettings.model_fields),
    *(f"openid.{name}" for name in OpenIdSettings.model_fields),
    *(f"openid.grants.{name}" for name in Grant.model_fields),
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_setting_is_documented(name: str) -> None:
    assert f"\n| `{name}` |" in DOCUMENT.read_text()


def test_nothing_else_is_documented() -> None:
    names = {line.split("`")[1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")}
    assert names == NAMES


def test_files_that_spark_counts_are_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    by_spark = SourceSettings(url=f"spark://host:7077{tmp_path}/a.parquet")
    assert by_spark.files == tmp_path / "a.parquet"
    assert by_spark.place == SourceSettings(path=tmp_path / "a.parquet").place
    assert (
        SourceSettings(url="spark:s3://bucket/people").place
        == SourceSettings(url="spark://h:1/s3://bucket/people/").place
    )
    table = SourceSettings(url="spark://host:7077", table="db.people")
    assert table.files is None
    assert table.place != SourceSettings(url="spark:", table="db.others").place
    twice = {"a": {"path": tmp_path / "a.parquet"}, "b": {"url": f"spark:{tmp_path}"}}
    with pytest.raises(InvalidInput, match="is the same data as the source 'a'"):
        Settings.load(data_folders=[tmp_path], sources=twice)
    with pytest.raises(InvalidInput, match=r"sources\.b\.url: must lie in one of `data_folders`"):
        Settings.load(data_folders=[tmp_path / "data"], sources={"b": {"url": f"spark:{tmp_path}/a.parquet"}})


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("spark://host:7077", "a database source needs a table"),
        ("spark:", "a database source needs a table"),
        (f"spark://me:{SECRET}@host:7077/a", "must hold no credentials"),
        ("spark://host/a", "must name the master as host:port"),
    ],
)
def test_spark_addresses_that_are_none(url: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        Settings.load(sources={"a": {"url": url}})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "home/jobs.db"),
        ({"state": "sqlite:///s.db"}, "home/jobs.db"),
        ({"state": "postgresql://db/tacita"}, None),
        ({"jobs_queue": "state"}, None),
        ({"state": "postgresql://db/tacita", "jobs_queue": "q.db"}, "q.db"),
    ],
)
def test_where_the_queue_is(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], place: str | None) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"TACITA_{name.upper()}", value)
    assert Settings.load(home=Path("home")).queue_file == (None if place is None else Path(place))
