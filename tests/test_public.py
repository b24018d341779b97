import subprocess
import sys

import tacita


def test_public_names_exist_and_are_pinned():
    assert sorted(tacita.__all__) == sorted(PUBLIC)
    for name in tacita.__all__:
        assert getattr(tacita, name) is not None


PUBLIC = [
    "Boolean",
    "Budget",
    "Categorical",
    "Client",
    "Database",
    "Date",
    "Domain",
    "Identifier",
    "Ledger",
    "Neighbours",
    "NoisyTables",
    "Numeric",
    "Ordinal",
    "RandomizedResponse",
    "Release",
    "Releases",
    "SecureSource",
    "SeededSource",
    "Session",
    "Unit",
    "Workload",
    "__version__",
    "connect",
]


def test_importing_the_package_loads_nothing_heavy():
    script = "import sys, tacita; print([m for m in ('numpy', 'pyarrow', 'numba', 'fastapi') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
