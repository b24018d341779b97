"""Many share a look, and nobody is told what was true before they asked."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tacita.server.http.shared_reads import SharedReads


class State:
    """Something that changes while it is looked at; a look ends when the test lets it."""

    def __init__(self) -> None:
        self.value, self.looks = 0, 0
        self.begun, self.go = threading.Event(), threading.Event()

    def look(self, id: str) -> tuple[str, int]:
        self.looks += 1
        seen = self.value
        self.begun.set()
        assert self.go.wait(120)
        return id, seen


async def begun(state: State) -> None:
    assert await asyncio.to_thread(state.begun.wait, 30)


def test_who_comes_during_a_look_waits_for_the_next() -> None:
    async def story() -> None:
        state = State()
        shared = SharedReads(state.look)
        early = asyncio.create_task(shared.at("a"))
        await begun(state)
        state.value = 1  # after the look has read, before it returns
        late = [asyncio.create_task(shared.at("a")) for _ in range(50)]
        await asyncio.sleep(0)
        state.go.set()
        assert await early == ("a", 0)
        assert set(await asyncio.gather(*late)) == {("a", 1)}
        assert state.looks == 2
        state.value = 2
        assert await shared.at("a") == ("a", 2)

    asyncio.run(story())


def test_ids_do_not_wait_for_each_other() -> None:
    async def story() -> None:
        state = State()
        shared = SharedReads(lambda id: state.look(id) if id == "slow" else (id, 7))
        slow = asyncio.create_task(shared.at("slow"))
        await begun(state)
        assert await shared.at("quick") == ("quick", 7)
        state.go.set()
        assert await slow == ("slow", 0)

    asyncio.run(story())


def test_what_goes_wrong_reaches_all_and_ends_with_them() -> None:
    async def story() -> None:
        state = State()

        def look(id: str) -> tuple[str, int]:
            state.look(id)
            raise LookupError(id)

        shared = SharedReads(look)
        waiting = [asyncio.create_task(shared.at("a")) for _ in range(3)]
        await begun(state)
        state.go.set()
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, LookupError)
        with pytest.raises(LookupError):
            await shared.at("a")

    asyncio.run(story())


def test_one_who_hangs_up_takes_nobody_along() -> None:
    async def story() -> None:
        state = State()
        shared = SharedReads(state.look)
        first, second = asyncio.create_task(shared.at("a")), asyncio.create_task(shared.at("a"))
        await begun(state)
        first.cancel()
        await asyncio.sleep(0)
        state.go.set()
        assert await second == ("a", 0)
        assert first.cancelled()

    asyncio.run(story())
