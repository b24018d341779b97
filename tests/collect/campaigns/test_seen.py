from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.collect.campaigns import Campaigns, seen
from tacita.collect.campaigns.seen import Fingerprints, SeenReports, stored_ids
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.store import Database
from tacita.tables.workload import Workload

DESIGN = plan_collection(
    Domain(attributes=[Categorical(name="x", levels=["a", "b"])]), Workload.of("x"), respondents=100, epsilon=1.0
)


def new_ids(count: int) -> set[bytes]:
    return {secrets.token_bytes(16) for _ in range(count)}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def id(database: Database) -> str:
    return Campaigns(database).create(DESIGN, title="Ids").id


def remember(database: Database, known: SeenReports, id: str, names: set[bytes]) -> set[bytes]:
    with database.writing() as connection:
        return known.remember(connection, id, names)


@given(groups=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40), max_size=30), max_size=12))
def test_fingerprints_are_a_set(groups: list[list[int]]) -> None:
    ours, truth = Fingerprints(), set[int]()
    for group in groups:
        wanted = np.array([*group, 7, -(2**63)], dtype=np.int64)
        assert ours.knows(wanted).tolist() == [number in truth for number in wanted.tolist()]
        ours.add(np.array(group, dtype=np.int64))
        truth.update(group)


def test_an_id_is_new_once_for_all_processes(database: Database, id: str) -> None:
    first, second, names = SeenReports(), SeenReports(), new_ids(50)
    some = set(sorted(names)[:20])
    assert remember(database, first, id, some) == some
    assert remember(database, second, id, names) == names - some
    assert remember(database, first, id, names) == set()
    assert remember(database, SeenReports(), id, names) == set()  # as after a restart
    with database.reading() as connection:
        assert stored_ids(connection, id) == sorted(names)


def test_ids_of_another_campaign_are_other_ids(database: Database, id: str) -> None:
    known, names = SeenReports(), new_ids(5)
    other = Campaigns(database).create(DESIGN, title="Other").id
    assert remember(database, known, id, names) == names
    assert remember(database, known, other, names) == names


def test_a_transaction_that_fails_leaves_its_ids_new(database: Database, id: str) -> None:
    known, names = SeenReports(), new_ids(5)
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        known.remember(connection, id, names)
        raise ZeroDivisionError
    assert remember(database, known, id, names) == names
    assert remember(database, known, id, names) == set()


def test_campaigns_that_do_not_fit_into_memory_are_read_again(
    database: Database, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "MOST_IN_MEMORY", 10)
    known, names = SeenReports(), new_ids(8)
    other = Campaigns(database).create(DESIGN, title="Other").id
    for _ in range(2):
        for campaign in (id, other):
            remember(database, known, campaign, names)
            assert remember(database, known, campaign, names) == set()
    assert len(known._mirrors) == 1


def test_a_batch_reads_no_ids_that_were_read_before(
    database: Database, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of a report must not grow with the reports that a campaign holds."""
    known, sizes = SeenReports(), list[int]()
    for _ in range(20):
        remember(database, known, id, new_ids(30))
    plain = seen.fingerprints
    monkeypatch.setattr(seen, "fingerprints", lambda ids: sizes.append(len(ids)) or plain(ids))
    remember(database, known, id, new_ids(40))
    assert sizes == [30, 40]  # the run that was added last, and its own
