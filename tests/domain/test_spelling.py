"""Readings of texts, and doubts about them."""

from __future__ import annotations

import pytest

from tacita.domain.spelling import DATE_FORMATS, find_dates, find_marks, sentinels, used_nulls


@pytest.mark.parametrize(
    ("columns", "delimiter", "marks", "doubtful"),
    [
        ({"a": {"1.5", "2"}}, ",", (".", ""), False),
        ({"a": {"1,5", "2"}}, ";", (",", ""), False),
        ({"a": {"1.234,5", "2"}}, ";", (",", "."), False),
        ({"a": {"1.234", "5.678"}}, ";", (".", ""), True),
        ({"a": {"1.234", "5.678"}}, ",", (".", ""), False),
        ({"a": {"0.234", "0.678"}}, ";", (".", ""), False),
        ({"a": {"1.234", "5.678"}, "b": {"1,5"}}, ";", (",", "."), False),
        ({"a": {"1,234", "5,678"}}, ";", (",", ""), True),
        ({"a": {"1,234", "5,678.5"}}, ",", (".", ","), False),
        ({"a": {"1 234,5", "2"}}, ";", (",", " "), False),
        ({"a": {"x"}, "b": set()}, ";", (".", ""), False),
        ({"a": {"1.67", "1.5"}, "b": {"3.106,71"}, "c": {"4"}}, ";", (".", ""), True),  # two ways in one file
        ({"a": {"3,5", "4,25"}}, ",", (".", ""), True),  # in quotes
    ],
)
def test_marks_explain_all_numbers_or_are_in_doubt(columns, delimiter, marks, doubtful):
    found, doubt = find_marks(columns, delimiter)
    assert (found.decimal, found.thousands) == marks
    assert (doubt is not None) == doubtful


@pytest.mark.parametrize(
    ("texts", "formats", "doubtful"),
    [
        ({"2020-12-31", "2021-01-01"}, (), False),
        ({"31.12.2020", "01.02.2021"}, ("%d.%m.%Y",), False),
        ({"03/04/2020", "25/04/2020"}, ("%d/%m/%Y",), False),
        ({"03/04/2020", "04/25/2020"}, ("%m/%d/%Y",), False),
        ({"03/04/2020", "05/06/2020"}, ("%d/%m/%Y",), True),
        ({"05/05/2020", "06/06/2020"}, ("%d/%m/%Y",), False),  # both readings agree
        ({"31.12.20"}, ("%d.%m.%y",), True),
        ({"31.12.2020 10:15"}, ("%d.%m.%Y %H:%M",), False),
        ({"3 Feb 2021"}, ("%d %b %Y",), False),
    ],
)
def test_dates_follow_one_format_or_are_in_doubt(texts, formats, doubtful):
    found = find_dates("x", texts)
    assert found is not None
    assert found[0] == formats
    assert (found[1] is not None) == doubtful


@pytest.mark.parametrize("texts", [set(), {"12"}, {"hello 1"}, {"31.12.2020", "x"}, {"31.13.2020", "13.31.2020"}])
def test_other_texts_are_no_dates(texts):
    assert find_dates("x", texts) is None


def test_every_format_reads_what_it_writes():
    import datetime as dt

    day = dt.datetime(2003, 4, 17, 21, 45, 33)
    for each in DATE_FORMATS:
        assert dt.datetime.strptime(day.strftime(each), each).date() == day.date()


def test_sentinels_are_far_from_all_others():
    assert sentinels([*range(20, 60), 999]) == [999]
    assert sentinels([*range(20, 60), -9]) == [-9]
    assert sentinels([*range(900, 1000)]) == []
    assert sentinels([1, 2, 999]) == []


def test_words_for_missing_values_are_those_that_occur():
    assert used_nulls([{"a", "N/A"}, {"-", "x"}]) == ("", "N/A", "-")
