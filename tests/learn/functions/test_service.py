"""The same point has the same answer: repeated, out of order, after a restart, from processes that are killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput
from tacita.learn.functions import service as module
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource, SeededSource
from tacita.store import Database
from tacita.store.fence import RESTORED, close_every
from tacita.store.schema import model_points

QUERIES = [[x, y] for x in (0.0, 3.3, 9.9) for y in (-1.0, 0.25)]


@pytest.fixture
def density(kit, registry) -> str:
    return kit.release(registry, kit.fit("density"))


def serve(registry: Registry) -> FunctionService:
    return FunctionService(registry, SecureSource())


def test_the_same_point_has_the_same_answer(registry, density) -> None:
    first = serve(registry)
    answers = first.predict(density, QUERIES).values
    assert len(set(answers)) == len(QUERIES)
    assert first.predict(density, QUERIES[::-1]).values == answers[::-1]
    restarted = serve(registry)
    assert restarted.predict(density, [QUERIES[4]]).values == answers[4:5]
    assert restarted.predict(density, [QUERIES[1], [5.0, 0.0], QUERIES[1]]).values[::2] == (answers[1],) * 2
    assert first.predict(density, [[5.0, 0.0]]) == restarted.predict(density, [[5.0, 0.0]])
    assert registry.get(density).points == len(QUERIES) + 1


def test_a_restored_state_answers_no_new_point(registry, density) -> None:
    """A point that was answered after the backup would get a second noise."""
    answers = serve(registry).predict(density, QUERIES).values
    with registry.database.writing() as connection:
        close_every(connection, RESTORED)
    assert serve(registry).predict(density, QUERIES).values == answers
    for held in (serve(registry), serve(registry)):
        with pytest.raises(Conflict, match="is closed"):
            held.predict(density, [[5.0, 0.0]])
    assert registry.get(density).points == len(QUERIES)


@pytest.mark.parametrize("kind", ["histogram", "density", "gaussian-process", "svm"])
@pytest.mark.parametrize("form", ["path", "features"])
def test_all_functions_in_both_forms(kit, registry, kind, form) -> None:
    model = kit.fit(kind, form=form)
    id = kit.release(registry, model)
    queries = {"histogram": [[1.0, "a"], [9.0, "d"]], "gaussian-process": [[1.0], [9.0]]}.get(kind, QUERIES[:2])
    one, again = (FunctionService(registry, SecureSource()).predict(id, queries) for _ in range(2))
    assert one == again
    assert one.noise_std > 0
    assert (one.labels is not None) == (kind == "svm")
    if kind == "svm":
        assert len(one.values[0]) == 3
        assert set(one.labels) <= {"a", "b", "d"}


def test_answers_are_near_the_function_by_the_noise_that_is_stated(kit, registry) -> None:
    """Over many releases, at one point: unbiased, and of the standard deviation that answers carry."""
    model = kit.fit("density")
    point = model.inputs.at(model.inputs.places([[4.0, 0.0]]))
    truth = model.predictions(model.exact(point)).values[0]
    found = np.array(
        [serve(registry).predict(kit.release(registry, model, f"f{i}"), [[4.0, 0.0]]).values[0] for i in range(60)]
    )
    std = model.about["noise_std"]
    assert abs(found.mean() - truth) < 4 * std / np.sqrt(60)
    assert 0.65 * std < found.std() < 1.35 * std


_WORKER = """
import json
import numpy as np
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.store import Database

service = FunctionService(Registry(Database(url)), SecureSource())
points = np.random.default_rng(0).uniform([0, -1], [10, 1], (120, 2)).tolist()  # the same for all
order = np.random.default_rng(seed)
with open(out, "a") as file:
    for _ in range(60):
        some = [points[i] for i in order.integers(0, 120, 4)]
        print(json.dumps([some, service.predict(id, some).values]), file=file, flush=True)
"""


def test_four_processes_two_of_them_killed(kit, url, tmp_path) -> None:
    id = kit.release(Registry(Database(url)), kit.fit("density"))
    outs = [tmp_path / f"out{i}" for i in range(6)]
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tacita.learn.functions.service"])

    def start(i: int) -> multiprocessing.process.BaseProcess:
        names = {"url": url, "id": id, "seed": i, "out": str(outs[i])}
        process = processes.Process(target=exec, args=(_WORKER, names))
        process.start()
        return process

    running = [start(i) for i in range(4)]
    for i in (0, 1):
        while not outs[i].exists() or outs[i].stat().st_size < 200:  # until it answers
            time.sleep(0.01)
        os.kill(running[i].pid, signal.SIGKILL)
        running.append(start(4 + i))
    for process in running:
        process.join(timeout=120)
    codes = [process.exitcode for process in running]
    assert codes[2:] == [0] * 4
    seen: dict[str, float] = {}
    told = 0
    for out in outs:
        for line in out.read_text().splitlines():
            if not line.endswith("]]"):
                continue  # cut off by the kill
            for point, value in zip(*json.loads(line), strict=True):
                assert seen.setdefault(json.dumps(point), value) == value
                told += 1
    assert told > 500
    assert len(seen) <= 120
    with Database(url).reading() as connection:
        places = connection.execute(sa.select(model_points.c.place).order_by(model_points.c.place)).scalars().all()
    assert places == list(range(len(places)))


def test_processes_go_on_with_one_path(kit, registry, density) -> None:
    """Near points have near noise, whoever drew the one and the other: a second path would be seen, and average out."""
    one, other = serve(registry), serve(registry)
    model = registry.model(registry.get(density))
    rng = np.random.default_rng(2)
    points = rng.uniform([0, -1], [10, 1], (40, 2))
    near = points + np.where(points > [5, 0], -1e-5, 1e-5)
    first = [
        service.predict(density, [point]).values[0]
        for service, point in zip([one, other] * 20, points.tolist(), strict=True)
    ]
    second = [
        service.predict(density, [point]).values[0]
        for service, point in zip([other, one] * 20, near.tolist(), strict=True)
    ]
    third = serve(registry).predict(density, (near + np.where(points > [5, 0], -1e-5, 1e-5)).tolist()).values
    std = model.about["noise_std"]
    for later in (second, third):
        apart = np.sqrt(np.mean((np.array(later) - np.array(first)) ** 2))
        assert 0.1 * std < apart < 0.5 * std  # of their own noise; sqrt(2) for two paths


def test_threads_share_a_service(registry, density) -> None:
    service, found = serve(registry), []

    def ask() -> None:
        found.append(service.predict(density, QUERIES).values)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_what_is_not_written_down_is_not_answered(registry, density, monkeypatch) -> None:
    service = serve(registry)
    before = service.predict(density, QUERIES[:2]).values
    kept = service._held[density].path.kept

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(service.registry, "close_hidden", broken)
    with pytest.raises(ZeroDivisionError):
        service.predict(density, QUERIES)
    assert (registry.get(density).points, service._held[density].path.kept) == (2, kept)
    monkeypatch.undo()
    after = service.predict(density, QUERIES).values
    assert after[:2] == before
    assert serve(registry).predict(density, QUERIES).values == after


def test_constant_memory_stays_constant(kit, registry) -> None:
    id = kit.release(registry, kit.fit("density", form="features", random=64))
    service = serve(registry)
    rng = np.random.default_rng(1)
    size = sum(array.nbytes for array in registry.model(registry.get(id)).arrays.values())
    for _ in range(5):
        service.predict(id, rng.uniform([0, -1], [10, 1], (2000, 2)).tolist())
    assert size == 8 * 128
    assert sum(array.nbytes for array in service._held[id].model.arrays.values()) == size
    assert service._held[id].path is None
    assert registry.get(id).points == 0


def test_bad_queries(kit, registry, density) -> None:
    service = serve(registry)
    for queries, match in [
        ([[1.0]], "2 value"),
        ([[1.0, 0.0, 0.0]], "2 value"),
        ([[float("nan"), 0.0]], "finite"),
        ([[float("inf"), 0.0]], "finite"),
        ([[1.0, None]], "finite"),
        ([["1", 0.0]], "finite"),
        ([[1.0, 2.0]], "between -1 and 1"),
        ([], "points"),
        ([3.0], "value"),
        ("ab", "list"),
    ]:
        with pytest.raises(InvalidInput, match=match):
            service.predict(density, queries)
    table = kit.release(registry, kit.fit("histogram"), "h")
    for queries, match in [
        ([[1.0, "z"]], "no such value"),
        ([[float("nan"), "a"]], "finite"),
        ([[1.0, None]], "a value"),
        ([[11.0, "a"]], "between"),
        ([["1", "a"]], "number"),
        ([[1.0]], "2 value"),
    ]:
        with pytest.raises(InvalidInput, match=match):
            service.predict(table, queries)


def test_dates_and_nearly_equal_numbers_name_points(kit, registry) -> None:
    id = kit.release(registry, kit.fit("density", features=("x", "seen")))
    service = serve(registry)
    one = service.predict(id, [[0.3, "2020-02-03"]])
    assert service.predict(id, [[0.1 + 0.2, "2020-02-03"]]) == one
    assert registry.get(id).points == 1
    with pytest.raises(InvalidInput, match="finite"):
        service.predict(id, [[0.3, "3 February"]])


def test_a_function_answers_only_so_many_points(registry, density, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 7)
    service = serve(registry)
    answers = service.predict(density, QUERIES).values
    with pytest.raises(Conflict, match="random features"):
        service.predict(density, [[0.5, 0.5], [0.6, 0.6]])
    assert service.predict(density, QUERIES).values == answers


def test_seeded_noise_answers_no_real_function(kit, registry) -> None:
    from dataclasses import replace

    model = kit.fit("density")
    real = replace(model, about=dict(model.about) | {"simulated": False})
    with pytest.raises(InvalidInput, match="simulated"):
        FunctionService(registry, SeededSource(1)).predict(kit.release(registry, real), QUERIES)
