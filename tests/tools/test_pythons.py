"""The order of work for several Pythons; none is installed here."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "pythons.py"
SPEC = importlib.util.spec_from_file_location("pythons", PATH)
pythons = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pythons)


class Machine:
    """Notes commands; those that hold one of the words fail."""

    def __init__(self, *failing: str) -> None:
        self.failing, self.commands = failing, []

    def do(self, command: Sequence[str]) -> int:
        text = " ".join(command)
        self.commands.append(text)
        if " -m venv " in text:
            Path(command[-1]).mkdir(parents=True, exist_ok=True)
        return int(any(word in text for word in self.failing))


def run(machine: Machine, folder: Path, *there: str) -> int:
    found = {f"python{version}": f"/usr/bin/python{version}" for version in there}
    return pythons.main(pythons.VERSIONS, find=found.get, do=machine.do, folder=folder)


def test_each_python_that_is_there_is_tested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine()
    assert run(machine, tmp_path, "3.11", "3.13") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "passed: 3.11, 3.13; not found: 3.12, 3.14, 3.15"
    tests = [command for command in machine.commands if "check.py --quick" in command]
    assert tests == [f"{tmp_path}/{version}/bin/python tools/check.py --quick" for version in ("3.11", "3.13")]
    assert all("constraints.txt" in command for command in machine.commands if "install" in command)


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    assert run(Machine(), tmp_path, "3.13") == 0
    again = Machine()
    assert run(again, tmp_path, "3.13") == 0
    assert [command.split(" ", 1)[1] for command in again.commands] == ["tools/check.py --quick"]
    (tmp_path / "3.13" / "ready").write_text("other versions")
    anew = Machine()
    assert run(anew, tmp_path, "3.13") == 0
    assert len(anew.commands) == 3


def test_other_versions_are_tried_where_the_exact_ones_are_not_there(tmp_path: Path) -> None:
    machine = Machine("constraints.txt")
    assert run(machine, tmp_path, "3.15") == 0
    assert [" -c " in command for command in machine.commands] == [False, True, False, False]


@pytest.mark.parametrize("failing", [("3.13/bin/python tools",), ("pip install",), (" -m venv ",)])
def test_a_failure_is_named_and_the_others_are_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failing: tuple[str, ...]
) -> None:
    only = tuple(f"{tmp_path}/{word}" if word.startswith("3") else word for word in failing)
    assert run(Machine(*only), tmp_path, "3.12", "3.13") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert "failed: 3.13" in last or "failed: 3.12, 3.13" in last
    assert ("passed: 3.12" in last) == failing[0].startswith("3")


def test_no_python_at_all_is_a_failure(tmp_path: Path) -> None:
    assert run(Machine(), tmp_path) == 1
