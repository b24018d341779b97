from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "check_mirror.py"
SPEC = importlib.util.spec_from_file_location("check_mirror", PATH)
check_mirror = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_mirror)

PAGES = {"pages": ("browser", "in a browser")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "src/tacita/__init__.py",
        "src/tacita/_version.py",
        "src/tacita/room/__init__.py",
        "src/tacita/room/one.py",
        "src/tacita/room/two.py",
        "src/tacita/pages/start.py",
        "src/tacita/store/migrations/versions/first.py",
        "tests/room/test_one.py",
        "tests/browser/test_start.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_the_tree_is_mirrored() -> None:
    assert check_mirror.main() == 0


def test_a_module_without_a_test_is_found(root: Path) -> None:
    assert check_mirror.breaches(root, PAGES, {}) == ["src/tacita/room/two.py: has no tests/room/test_two.py"]
    assert check_mirror.breaches(root, PAGES, {"room/test_one.py": ("two",)}) == []
    (root / "tests/room/test_two.py").touch()
    assert check_mirror.breaches(root, PAGES, {}) == []


@pytest.mark.parametrize(
    ("rooms", "together", "says"),
    [
        ({}, {"room/test_one.py": ("two",)}, "pages/start.py: has no"),
        (PAGES, {"room/test_one.py": ("two", "three")}, "room/three: there is no such module"),
        (PAGES, {"room/test_one.py": ("two", "one")}, "room/one: has a file of its own"),
        (PAGES, {"room/test_gone.py": ("two",)}, "room/test_gone.py: there are no such tests"),
        (PAGES, {"room/test_one.py": ("two",), "browser/test_start.py": ("room/two",)}, "room/two: is named twice"),
        (PAGES | {"gone": ("room", "why")}, {"room/test_one.py": ("two",)}, "gone: there is no such room"),
        ({"pages": ("gone", "why")}, {"room/test_one.py": ("two",)}, "gone: there are no such tests"),
    ],
)
def test_lines_that_are_wrong_are_found(root: Path, rooms: dict, together: dict, says: str) -> None:
    assert any(says in each for each in check_mirror.breaches(root, rooms, together))
