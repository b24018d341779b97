from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.engines.consent import Consent, ConsentFile, ConsentRecords
from tacita.errors import DataError, InvalidInput, SourceUnavailable

HEADER = "person,purpose,answer,since,until\n"
NOON = dt.datetime(2025, 6, 1, 12, tzinfo=dt.UTC)


def day(number: int) -> dt.datetime:
    return dt.datetime(2025, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=number)


def write(path: Path, text: str) -> ConsentFile:
    path.write_text(HEADER + text, encoding="utf-8")
    return ConsentFile(path)


def test_who_said_what(tmp_path: Path) -> None:
    file = write(
        tmp_path / "consent.csv",
        "ann,research,yes,2025-01-01,\n"
        "bob,research,yes,2025-01-01,2025-06-01\n"  # over, by half a day
        "cat,*,yes,2025-06-01T12:00:00+00:00,\n"  # from this moment on
        "dan,*,yes,2025-01-01,\ndan,research,no,2025-05-01,\n"
        "eve,research,yes,2025-01-01,\neve,*,no,2025-05-01,2025-05-02\n"  # an opt-out that is over
        "fay,sales,yes,2025-01-01,\n"
        '"g,h",research,yes,2025-01-01,\n',
    )
    persons = ["ann", "bob", "cat", "dan", "eve", "fay", "g,h", "nobody"]
    assert list(file.who("research", NOON)(persons)) == [True, False, True, False, True, False, True, False]
    assert list(file.who("sales", NOON)(persons)) == [False, False, True, True, False, True, False, False]


def test_an_opt_out_is_seen_at_the_next_question(tmp_path: Path) -> None:
    file = write(tmp_path / "consent.csv", "ann,research,yes,2025-01-01,\n")
    assert list(file.who("research", NOON)(["ann"])) == [True]
    write(tmp_path / "consent.csv", "ann,research,yes,2025-01-01,\nann,*,no,2025-01-02,\n")
    assert list(file.who("research", NOON)(["ann"])) == [False]
    (tmp_path / "consent.csv").unlink()
    with pytest.raises(SourceUnavailable, match="consent: cannot be read"):
        file.who("research", NOON)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("pq*"), st.booleans(), st.integers(0, 4), st.integers(0, 5)),
        max_size=6,
    ),
    st.integers(0, 5),
)
def test_the_rule_spelled_out(lines: list[tuple[str, str, bool, int, int]], today: int) -> None:
    records = ConsentRecords(
        Consent(person=who, purpose=what, answer=says, since=day(since), until=day(until) if until < 5 else None)
        for who, what, says, since, until in lines
    )
    for person in "ab":
        said = [
            says
            for who, what, says, since, until in lines
            if who == person and what in "p*" and since <= today and (until == 5 or today < until)
        ]
        wanted = len(said) > 0 and all(said)
        assert list(records.who("p", day(today))([person])) == [wanted]


@pytest.mark.parametrize(
    "line",
    [
        "secret,research,maybe,2025-01-01,",
        "secret,research,YES,2025-01-01,",
        "secret,research,yes,yesterday,",
        "secret,research,yes,,",
        "secret,research,yes,2025-01-01",
        "secret,research,yes,2025-01-01,,,",
        ",research,yes,2025-01-01,",
        "secret,,yes,2025-01-01,",
        'secret,research,yes,2025-01-01,"',
    ],
)
def test_a_broken_file_allows_nobody_and_names_nobody(tmp_path: Path, line: str) -> None:
    file = write(tmp_path / "consent.csv", f"ann,research,yes,2025-01-01,\n{line}\n")
    for _ in range(2):  # it does not pass the second time either
        with pytest.raises(DataError, match="no record") as caught:
            file.who("research", NOON)
        assert "secret" not in f"{caught.value} {caught.value.private}"
    assert "line 3" in str(caught.value.private)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "consent.csv").write_text("person,purpose\nann,research\n")
    with pytest.raises(DataError, match="must have the columns person, purpose, answer, since, until"):
        ConsentFile(tmp_path / "consent.csv").who("research", NOON)


@pytest.mark.parametrize("purpose", ["", "*"])
def test_a_purpose_is_one(purpose: str) -> None:
    with pytest.raises(InvalidInput, match="purpose"):
        ConsentRecords(()).who(purpose, NOON)
    with pytest.raises(InvalidInput, match="time zone"):
        Consent(person="a", purpose="p", answer=True, since=dt.datetime(2025, 1, 1))
