"""No wait of a test ends before two minutes, and no test asserts a time: a busy machine must fail nothing.

A source is read as a tree, so that every form is found: `timeout=30`, `.wait(30)`, `wait_for(x, 30)`,
`monotonic() + 30`, a default of a parameter, a request without a limit of its own (httpx gives up after 5 seconds),
`assert elapsed < 1`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LEAST = 120  # seconds; Playwright counts milliseconds
LIMITS = {"timeout", "deadline", "patience"}
DEFAULTS = LIMITS | {"seconds"}  # in calls, seconds are mostly an effort
# where the limit is among the positional arguments
POSITIONS = {
    "wait": 0,
    "join": 0,
    "result": 0,
    "settimeout": 0,
    "set_default_timeout": 0,
    "set_default_navigation_timeout": 0,
    "communicate": 1,
    "wait_for": 1,
    "timeout": 0,
    "timeout_at": 0,
    "fail_after": 0,
    "move_on_after": 0,
}
CLOCKS = {"monotonic", "perf_counter", "process_time", "time", "monotonic_ns", "perf_counter_ns", "time_ns"}
SENDING = {"get", "post", "put", "patch", "delete", "head", "options", "request", "stream", "Client", "AsyncClient"}
OURS = {"Client", "HolderClient"}
# files and functions whose short limit is the thing that is tested, or no wait at all
ALLOWED = {
    "anonymize/methods/test_registry.py": "the deadline of a batch is counted in rows",
    "anonymize/streams/test_micro_batches.py": "the deadline of a batch is counted in rows",
    "client/test_holder.py::test_patience_ends": "the client gives up on purpose",
    "engines/postgres/test_adding.py::test_a_statement_that_takes_too_long_says_no_more": "the engine gives up on "
    "purpose",
    "engines/postgres/test_engine.py::test_a_slow_statement_is_stopped": "the engine gives up on purpose",
    "server/test_holder.py::test_holders_that_are_killed_never_overspend_and_the_run_goes_on": "a killed holder is "
    "not waited for on purpose",
    "testing/test_clock.py": "the clock is moved by the test",
}


def _number(node: ast.AST | None, constants: dict[str, float]) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    return None


def _short(value: float | None) -> bool:
    """Whether a limit is less than two minutes: in seconds, or in milliseconds where it is large."""
    return value is not None and not (LEAST <= value < 1000 or value >= 1000 * LEAST)


def _name(call: ast.Call) -> str:
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node) in CLOCKS and not node.args


def _of_httpx(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "httpx"


def _of_call(call: ast.Call, constants: dict[str, float]) -> Iterator[str]:
    name, given = _name(call), {keyword.arg: keyword.value for keyword in call.keywords}
    for limit in LIMITS & set(given):
        if _short(_number(given[limit], constants)):
            yield f"{name}({limit}={ast.unparse(given[limit])})"
    place = POSITIONS.get(name)
    if place is not None and len(call.args) > place and _short(_number(call.args[place], constants)):
        yield ast.unparse(call)
    if _of_httpx(call) and name in SENDING and not {"timeout", "transport"} & set(given) and None not in given:
        yield f"{ast.unparse(call.func)}() without a timeout ends after 5 seconds"
    somewhere = call.args and not isinstance(call.args[0], ast.Constant)  # a server that runs, not an example
    if isinstance(call.func, ast.Name) and name in OURS and somewhere and not {"timeout", "transport"} & set(given):
        yield f"{name}() without a timeout ends after a minute"


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef, constants: dict[str, float]) -> Iterator[str]:
    signature = function.args
    plain = [*signature.posonlyargs, *signature.args]
    pairs = [*zip(plain[::-1], signature.defaults[::-1], strict=False)]
    pairs += zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
    for argument, default in pairs:
        if argument.arg in DEFAULTS and _short(_number(default, constants)):
            yield f"def {function.name}({argument.arg}={ast.unparse(default)})"


def _of_assertion(assertion: ast.Assert, measured: set[str]) -> Iterator[str]:
    """An assertion of a time; `monotonic() < deadline` is a wait, whose length is checked where it begins."""
    for node in ast.walk(assertion.test):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if all(_is_clock(side) or isinstance(side, ast.Name) for side in sides) and any(map(_is_clock, sides)):
            continue
        inside = [part for side in sides for part in ast.walk(side)]
        if any(_is_clock(part) or (isinstance(part, ast.Name) and part.id in measured) for part in inside):
            yield ast.unparse(assertion.test)


def breaches(source: str) -> list[tuple[str, int, str]]:
    """The function, line and text of each wait that is too short, and of each assertion of a time."""
    tree = ast.parse(source)
    constants: dict[str, float] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and (value := _number(node.value, {})) is not None:
            constants |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}
    found: list[tuple[str, int, str]] = []

    def visit(node: ast.AST, function: str, measured: set[str]) -> None:
        texts: list[str] = []
        if isinstance(node, ast.Call):
            texts = list(_of_call(node, constants))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            texts = list(_of_function(node, constants))
            function, measured = function or node.name, set(measured)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_clock(node.left):
            texts = [ast.unparse(node)] if _short(_number(node.right, constants)) else []
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
            if any(map(_is_clock, ast.walk(node.value))):
                measured |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Assert):
            texts = list(_of_assertion(node, measured))
        found.extend((function, getattr(node, "lineno", 0), text) for text in texts)
        for child in ast.iter_child_nodes(node):
            visit(child, function, measured)

    visit(tree, "", set())
    return found


def _files() -> list[Path]:
    return [path for path in sorted(TESTS.rglob("*.py")) if "node_modules" not in path.parts]


def test_every_wait_lasts_two_minutes_and_no_time_is_asserted() -> None:
    wrong, used = [], set()
    for path in _files():
        file = str(path.relative_to(TESTS))
        for function, line, text in breaches(path.read_text(encoding="utf-8")):
            reason = next((name for name in (file, f"{file}::{function}") if name in ALLOWED), None)
            if reason is None:
                wrong.append(f"tests/{file}:{line} in {function}: {text}")
            else:
                used.add(reason)
    assert not wrong, "\n".join(wrong)
    assert used == set(ALLOWED), "these exceptions are not needed any more"


@pytest.mark.parametrize(
    "source",
    [
        "process.wait(30)",
        "thread.join(5)",
        "process.communicate(timeout=30)",
        "process.communicate(None, 30)",
        "subprocess.run(command, timeout=60)",
        "await asyncio.wait_for(reader.read(), 10)",
        "socket.settimeout(2)",
        "future.result(10)",
        "arrived.get(timeout=20)",
        "deadline = time.monotonic() + 30",
        "until = monotonic() + 30",
        "LONG = 30\nprocess.wait(LONG)",
        "LONG = 30\nend = time.monotonic() + LONG",
        "def until(condition, seconds=10.0): ...",
        "def until(condition, *, timeout=10): ...",
        "federate(terms, deadline=60)",
        "page.set_default_timeout(30_000)",
        "expect(chart).to_be_visible(timeout=30_000)",
        "page.wait_for_function('x', timeout=5000)",
        "httpx.get(url)",
        "Client(server.url, token)",
        "HolderClient(f'http://127.0.0.1:{port}', token, patience=120)",
        "with httpx.Client(base_url=url) as http: ...",
        "assert time.monotonic() - start < 2",
        "took = time.perf_counter() - start\nassert took < 1",
        "def test():\n    took = time.process_time() - start\n    assert 2 * took < other",
    ],
)
def test_short_waits_and_times_are_found(source: str) -> None:
    assert breaches(source)


@pytest.mark.parametrize(
    "source",
    [
        "process.wait()",
        "process.wait(120)",
        "gate.wait(timeout=300)",
        "', '.join(names)",
        "@settings(deadline=None)\ndef test(): ...",
        "deadline = time.monotonic() + 120\nassert time.monotonic() < deadline",
        "LONG = 120\nprocess.wait(LONG)",
        "expect(chart).to_be_visible(timeout=240_000)",
        "httpx.get(url, timeout=120)",
        "Client(url, token, timeout=120)",
        "Client('http://test', transport=transport)",
        "Client('http://x')",
        "httpx.Client(transport=transport)",
        "time.sleep(0.05)",
        "started = time.time()\nassert record.created",
    ],
)
def test_what_is_fine(source: str) -> None:
    assert not breaches(source)
