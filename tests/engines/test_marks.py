"""Data is recognised under another name, and told apart from other data."""

from __future__ import annotations

import psycopg
import pytest

from tacita.domain import Boolean, Domain
from tacita.engines.marks import data_marks
from tacita.errors import InternalError, SourceUnavailable

DOMAIN = Domain(attributes=[Boolean(name="ill")])


def test_a_file_is_recognised_wherever_it_lies(tmp_path):
    (tmp_path / "deep").mkdir()
    one, two, other = tmp_path / "a.csv", tmp_path / "deep" / "b.csv", tmp_path / "c.csv"
    one.write_text("ill\ntrue\n")
    two.write_text("ill\ntrue\n")
    other.write_text("ill\nfalse\n")
    assert data_marks(str(one), DOMAIN) == data_marks(str(two), DOMAIN)
    assert not data_marks(str(one), DOMAIN).marks & data_marks(str(other), DOMAIN).marks
    # a folder that holds it shares its mark
    assert data_marks(str(one), DOMAIN).marks <= data_marks(str(tmp_path), DOMAIN).marks


def test_a_file_that_cannot_be_read_says_so(tmp_path, monkeypatch):
    (tmp_path / "a.csv").symlink_to(tmp_path / "a.csv")  # a link to itself cannot be opened, not even by root
    monkeypatch.setattr("pathlib.Path.is_file", lambda _: True)
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        data_marks(str(tmp_path / "a.csv"), DOMAIN)


def test_a_table_is_recognised_by_any_address_and_after_a_change(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (ill boolean)")
        connection.execute("CREATE TABLE others (ill boolean)")
        first = data_marks(postgres_url, DOMAIN, "people")
        connection.execute("INSERT INTO people VALUES (true)")
    joiner = "&" if "?" in postgres_url else "?"
    assert data_marks(f"{postgres_url}{joiner}application_name=x", DOMAIN, "public.people") == first
    assert data_marks(postgres_url, DOMAIN, "others").marks != first.marks


@pytest.mark.parametrize("schema", ["one", "two"])
def test_the_schema_goes_with_the_marks(tmp_path, schema):
    (tmp_path / "a.csv").write_text("ill\n")
    domain = Domain(title=schema, attributes=DOMAIN.attributes)
    assert data_marks(str(tmp_path / "a.csv"), domain).schema == domain.fingerprint


def test_an_address_that_cannot_be_recognised_is_a_fault():
    """Without marks the same data could have two accounts."""
    with pytest.raises(InternalError, match="no marks"):
        data_marks("other://host/people", DOMAIN)
