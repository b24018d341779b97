"""The pool for computations: bounded, apart from pages and intake, stopped when nobody waits."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tacita.errors import InternalError, InvalidInput, UnknownName
from tacita.server.jobs.computing import EACH, LIMITS, WAITING, ComputePool, check_cost
from tacita.wire.refusals import ClientGone, TooManyRequests


def _dawdle(folder: Path, seconds: float = 600.0) -> int:
    """Say who computes, then take a while."""
    (folder / str(os.getpid())).touch()
    time.sleep(seconds)
    return os.getpid()


def _refuse() -> None:
    raise UnknownName("x", field="attribute", available=["y"])


def _break() -> None:
    raise ValueError("a value that nobody may read")


async def _begun(folder: Path) -> int:
    while not (found := list(folder.iterdir())):
        await asyncio.sleep(0.05)
    return int(found[0].name)


async def _ended(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.05)


class Client:
    """Stands for a request whose client hangs up when told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def _run(test: Any, *, processes: int = 1, seconds: float = 300.0) -> None:
    async def run() -> None:
        pool = ComputePool(processes=processes, seconds=seconds)
        try:
            await asyncio.wait_for(test(pool), 240)
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_child_computes_is_kept_and_passes_errors_on(tmp_path: Path) -> None:
    async def test(pool: ComputePool) -> None:
        run = partial(pool.run, estimate=10, principal="a")
        first = await run(partial(_dawdle, tmp_path, 0))
        with pytest.raises(UnknownName, match="Known: y"):
            await run(_refuse)
        with pytest.raises(InternalError, match="ValueError") as caught:
            await run(_break)
        assert "nobody may read" not in str(caught.value)
        assert await run(partial(_dawdle, tmp_path, 0)) == first != os.getpid()
        assert await pool.run(os.getpid, estimate=0.01, principal="a") == os.getpid()  # quick: no child

    _run(test)


def test_who_hangs_up_stops_the_computation(tmp_path: Path) -> None:
    async def test(pool: ComputePool) -> None:
        client = Client()
        work = asyncio.create_task(
            pool.run(partial(_dawdle, tmp_path), estimate=10, principal="a", request=client)  # type: ignore[arg-type]
        )
        pid = await _begun(tmp_path)
        client.gone.set()
        with pytest.raises(ClientGone):
            await work
        await _ended(pid)
        assert await pool.run(partial(_dawdle, tmp_path, 0), estimate=10, principal="a") != pid

    _run(test)


def test_a_computation_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    async def test(pool: ComputePool) -> None:
        with pytest.raises(InvalidInput, match="stopped"):
            await pool.run(partial(_dawdle, tmp_path), estimate=10, principal="a")
        for child in tmp_path.iterdir():  # it may not have begun
            await _ended(int(child.name))

    _run(test, seconds=1.0)


def test_one_principal_has_a_few_and_all_together_a_few_more(tmp_path: Path) -> None:
    async def test(pool: ComputePool) -> None:
        work = [
            asyncio.create_task(pool.run(partial(_dawdle, tmp_path), estimate=10, principal=f"p{i // EACH}"))
            for i in range(1 + WAITING)
        ]
        await _begun(tmp_path)
        with pytest.raises(TooManyRequests, match="each token"):
            await pool.run(os.getpid, estimate=10, principal="p0")
        with pytest.raises(TooManyRequests, match="wait already"):
            await pool.run(os.getpid, estimate=10, principal="somebody else")
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        assert await pool.run(os.getpid, estimate=10, principal="p0") != os.getpid()

    _run(test)


def test_what_would_take_too_long_is_refused_with_a_way_out() -> None:
    for role, most in LIMITS.items():
        check_cost(most, role=role, hint="x")
        with pytest.raises(InvalidInput, match=f"role {role}.*Ask for less"):
            check_cost(most * 1.01, role=role, hint="Ask for less")


def test_pages_answer_while_analysts_do_their_worst(world) -> None:
    """Every process of the pool is busy, and more wait; what respondents and operators need goes on."""
    campaign = world.campaign()
    names = [f"a{i}" for i in range(60)]
    hostile = {
        "schema": {
            "attributes": [{"name": n, "kind": "categorical", "levels": [str(j) for j in range(64)]} for n in names]
        },
        "tables": [[a, b] for a in names for b in names if a < b],
        "epsilon": 1.0,
        "respondents": 100_000,
    }
    for role in ("analyst", "steward"):
        refused = world.call("POST", "/v1/campaigns/plan", token=world.token(role), json=hostile)
        assert refused.status_code == 422, refused.text
        assert "mode" in refused.json()["hint"]
    chosen = world.call("POST", "/v1/campaigns/plan", token=world.token("analyst"), json=hostile | {"mode": "tables"})
    assert chosen.status_code == 200, chosen.text
    assert world.call("GET", f"/v1/campaigns/{campaign['id']}/questions").status_code == 200


def test_a_table_with_too_many_cells_is_not_planned(world) -> None:
    names = [f"a{i}" for i in range(10)]
    body = {
        "schema": {
            "attributes": [{"name": n, "kind": "categorical", "levels": [str(j) for j in range(8)]} for n in names]
        },
        "tables": [names],
        "epsilon": 1.0,
        "respondents": 100_000,
    }
    refused = world.call("POST", "/v1/campaigns/plan", token=world.token("analyst"), json=body)
    assert refused.status_code == 422
    assert "cells" in refused.json()["rule"]


def test_a_rehearsed_plan_comes_from_a_child(world) -> None:
    levels = [{"name": n, "kind": "boolean"} for n in "ab"]
    body = {"schema": {"attributes": levels}, "tables": [["a", "b"]], "epsilon": 1.0, "respondents": 1000}
    made = world.call("POST", "/v1/campaigns/plan", token=world.token("analyst"), json=body)
    assert made.status_code == 200, made.text
    assert made.json()["rehearsed"] > 0
    assert len(world.services.computing._idle) == 1
