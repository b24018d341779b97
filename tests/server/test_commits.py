"""Batches that are written together, and what happens when one of them cannot be."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tacita.collect.campaigns import Accepted
from tacita.errors import Conflict
from tacita.server.commits import MOST_REPORTS, GroupCommit


def batch(name: str, size: int = 1) -> Any:
    return SimpleNamespace(campaign=name, ids=[b""] * size)


def accept(count: Any) -> Accepted:
    return Accepted(accepted=len(count.ids), replayed=())


def test_what_arrives_while_the_disk_is_busy_is_written_together() -> None:
    groups: list[int] = []

    def count(batches: Any) -> list[Any]:
        groups.append(len(batches))
        return [accept(each) for each in batches]

    async def main() -> list[Accepted]:
        commits = GroupCommit(count)
        return await asyncio.gather(*(commits.submit(batch("a")) for _ in range(50)))

    outcomes = asyncio.run(main())
    assert sum(each.accepted for each in outcomes) == 50
    assert len(groups) < 10


def test_one_bad_batch_does_not_take_the_others_with_it() -> None:
    def count(batches: Any) -> list[Any]:
        if any(each.campaign == "bad" for each in batches):
            raise RuntimeError("cannot be written")
        return [accept(each) for each in batches]

    async def main() -> list[Any]:
        commits = GroupCommit(count)
        names = ["good", "bad", "good", "good"]
        return await asyncio.gather(*(commits.submit(batch(name)) for name in names), return_exceptions=True)

    outcomes = asyncio.run(main())
    assert [type(each) for each in outcomes] == [Accepted, RuntimeError, Accepted, Accepted]


def test_a_refusal_is_raised_to_its_own_sender() -> None:
    async def main() -> None:
        commits = GroupCommit(lambda batches: [Conflict("is closed", field="campaign") for _ in batches])
        await commits.submit(batch("a"))

    with pytest.raises(Conflict):
        asyncio.run(main())


def test_a_commit_stays_short() -> None:
    sizes: list[int] = []

    def count(batches: Any) -> list[Any]:
        sizes.append(sum(len(each.ids) for each in batches))
        return [accept(each) for each in batches]

    async def main() -> None:
        commits = GroupCommit(count)
        await asyncio.gather(*(commits.submit(batch("a", 9000)) for _ in range(8)))

    asyncio.run(main())
    assert max(sizes) <= MOST_REPORTS
    assert sum(sizes) == 72_000
