from __future__ import annotations

import dataclasses
import datetime as dt
import re
import threading

import pytest

from tacita.errors import Forbidden, InvalidInput
from tacita.report.release_log import Released, StoredReleaseLog, concerns, digest_of
from tacita.store import Database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request, tmp_path):
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path}/state.db")
    return Database(request.getfixturevalue("postgres_url"))


def released(**changes) -> Released:
    about = {
        "dataset": "patients",
        "kind": "k-anonymous",
        "recipe": digest_of({"k": 10}),
        "attributes": ("age", "zip", "illness"),
        "classes": digest_of([1]),
        "recipient": "a buyer",
    }
    return Released(**about | changes)


def test_what_is_recorded_comes_back(database) -> None:
    log = StoredReleaseLog(database)
    first = released(at=dt.datetime(2025, 1, 1, 9, 30, tzinfo=dt.UTC))
    second = released(classes=digest_of([2]), at=dt.datetime(2025, 1, 2, tzinfo=dt.UTC))
    assert log.record(first) == ()
    assert log.record(second) == (first,)
    assert log.record(released(dataset="others")) == ()
    assert log.history("patients") == (first, second)
    assert StoredReleaseLog(Database(database.url.render_as_string(hide_password=False))).history("patients") == (
        first,
        second,
    )


def test_of_two_that_race_one_sees_the_other(database) -> None:
    log, seen, gate = StoredReleaseLog(database), [], threading.Barrier(6)

    def race(number: int) -> None:
        gate.wait()
        seen.append(len(log.record(released(classes=digest_of(number)))))

    threads = [threading.Thread(target=race, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]


OLD = released(at=dt.datetime(2025, 1, 1, 9, 30, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"attributes": ("age",)}, None),
        ({"recipient": "somebody else"}, None),
        ({"dataset": "others", "classes": digest_of([9])}, None),
        ({"attributes": ("age", "sex")}, "same classes and other columns"),
        ({"classes": digest_of([9])}, "other classes over age, zip, illness.*intersected"),
        ({"classes": digest_of([9]), "attributes": ("sex", "age")}, "other classes over age, so"),
        ({"classes": digest_of([9]), "attributes": ("sex",)}, "other columns of the same people"),
    ],
)
def test_what_can_be_laid_over_what(changes, said) -> None:
    found = concerns(released(**changes), [OLD])
    if said is None:
        assert found == ()
    else:
        (sentence,) = found
        assert sentence.startswith("the release of 2025-01-01 09:30 UTC to the same recipient")
        assert re.search(said, sentence)


def test_recipients_can_share() -> None:
    (sentence,) = concerns(released(classes=digest_of([9]), recipient="somebody else"), [OLD])
    assert "to 'a buyer'" in sentence


def test_the_warning_is_true_of_an_attack() -> None:
    """Two 2-anonymous releases over other classes single out everybody; two over the same classes nobody."""
    people = {"ann": (20, "A"), "bob": (20, "B"), "cat": (40, "A"), "dan": (40, "B")}
    by_age, by_ward = ({who: value[i] for who, value in people.items()} for i in (0, 1))

    def class_of(release: dict[str, object], who: str) -> set[str]:
        return {other for other in release if release[other] == release[who]}

    assert all(len(class_of(release, who)) == 2 for release in (by_age, by_ward) for who in people)
    assert all(len(class_of(by_age, who) & class_of(by_ward, who)) == 1 for who in people)
    first, second = (
        released(classes=digest_of(release), attributes=("zip",), id=name)
        for name, release in (("1", by_age), ("2", by_ward))
    )
    assert concerns(second, [first])
    assert all(len(class_of(by_age, who) & class_of(dict(by_age), who)) == 2 for who in people)
    assert not concerns(dataclasses.replace(first, id="3"), [first])


@pytest.mark.parametrize(
    "changes", [{"dataset": ""}, {"recipient": "x" * 201}, {"recipe": "x" * 65}, {"attributes": ()}]
)
def test_half_an_entry_is_none(changes) -> None:
    with pytest.raises(InvalidInput):
        released(**changes)


def test_of_two_that_race_with_other_classes_one_is_refused(database) -> None:
    """Looking first and writing afterwards would let both out, and who has both could intersect them."""
    log, outcomes = StoredReleaseLog(database), []
    start = threading.Barrier(4)

    def release(number: int) -> None:
        start.wait()
        try:
            log.record(released(classes=digest_of([number])), same_classes=True)
            outcomes.append("left")
        except Forbidden:
            outcomes.append("refused")

    threads = [threading.Thread(target=release, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["left", "refused", "refused", "refused"]
    assert len(log.history("patients")) == 1  # what was refused is not written down
