import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "check_imports.py"
SPEC = importlib.util.spec_from_file_location("check_imports", PATH)
check_imports = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_imports)


def test_the_tree_is_clean():
    assert check_imports.main() == 0


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("privacy/x.py", "from tacita.tables.release import Release"),
        ("query/x.py", "from tacita.collect import channel"),
        ("noise/x.py", "import tacita.server.app"),
        ("domain/x.py", "def f():\n    from tacita.cli import main"),
        ("domain/x.py", "from tacita import tables"),
        ("plans/x.py", "import opendp.prelude as dp"),
        ("server/x.py", "import psycopg"),
        ("engines/local/x.py", "import pandas"),
    ],
)
def test_breaches_are_found(path, source):
    assert check_imports.breaches(Path(path), source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("engines/x.py", "from tacita.tables.table import Table"),
        ("query/x.py", "from tacita.plans.session import Session"),
        ("engines/postgres/x.py", "import psycopg"),
        ("cli/x.py", "from tacita import errors\nimport typer"),
    ],
)
def test_what_is_fine(path, source):
    assert not check_imports.breaches(Path(path), source)
