"""The order of all checks; none is run here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import LONGEST, pytest_collection_modifyitems

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("check", ROOT / "tools" / "check.py")
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run, begun and waited for; nothing really is."""
    commands: list[str] = []
    monkeypatch.setattr(check, "failing", (), raising=False)

    def status(command: list[str]) -> int:
        return int(any(word in command for word in check.failing))

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(" ".join(command[1:]))
        return SimpleNamespace(returncode=status(command))

    class Popen:
        def __init__(self, command: list[str], **_: object) -> None:
            self.command = command
            commands.append(f"begin {' '.join(command[1:])}")

        def wait(self) -> int:
            commands.append(f"wait for {' '.join(self.command[1:])}")
            return status(self.command)

    monkeypatch.setattr(check, "subprocess", SimpleNamespace(run=run, Popen=Popen))
    return commands


def test_kernels_are_compiled_beside_the_linters(done: list[str]) -> None:
    assert check.main([]) == 0
    assert done[0] == "begin -m tacita warm --quiet"
    waited = done.index("wait for -m tacita warm --quiet")
    assert done[waited - 1].startswith("tools/generate.py")
    assert done[waited + 1].startswith("-m pytest -n 2")
    assert done[-2].endswith("tests/browser")
    assert done[-1].endswith("bench smoke")


@pytest.mark.parametrize("part", ["--lint", "--quick", "--browser"])
def test_a_part_alone_compiles_nothing_before_it(done: list[str], part: str) -> None:
    assert check.main([part]) == 0
    assert not any("warm" in command for command in done)


@pytest.mark.parametrize("failing", ["warm", "tools/check_mirror.py", "tests/browser"])
def test_a_failure_anywhere_is_a_failure(
    done: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    monkeypatch.setattr(check, "failing", (failing,))
    assert check.main([]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("failed: ")
    assert done[-1].endswith("bench smoke")  # the others are run all the same


def test_the_longest_files_are_there_and_begin() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []
    names = ["a/test_a.py", "a/test_b.py", LONGEST[1], "a/test_a.py", LONGEST[0]]
    items = [SimpleNamespace(path=ROOT / "tests" / name, number=number) for number, name in enumerate(names)]
    pytest_collection_modifyitems(items)
    assert [item.number for item in items] == [4, 2, 0, 1, 3]
