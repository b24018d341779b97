import subprocess
import sys

import tacita


def test_public_names_exist_and_are_pinned():
    assert sorted(tacita.__all__) == sorted(PUBLIC)
    for name in tacita.__all__:
        assert getattr(tacita, name) is not None


def test_verbs_are_submodules_that_name_what_they_do():
    for verb in ("anonymize", "assess", "collect", "learn", "models", "query", "synthesize"):
        room = getattr(tacita, verb)
        assert room.__name__ == f"tacita.{verb}"
        assert len(dir(room)) >= 9
        for name in dir(room):
            assert getattr(room, name) is getattr(room, name)  # a name is not covered by a submodule once it is loaded


PUBLIC = [
    "Aggregates",
    "Anonymize",
    "Boolean",
    "Budget",
    "Categorical",
    "Client",
    "Conditions",
    "Database",
    "Date",
    "Device",
    "Domain",
    "Identifier",
    "Ledger",
    "Neighbours",
    "NoisyTables",
    "Numeric",
    "Ordinal",
    "PrivBayes",
    "PrivacyWarning",
    "RandomizedResponse",
    "Regression",
    "Release",
    "Releases",
    "SecureSource",
    "SeededSource",
    "Session",
    "Statement",
    "Synthesize",
    "TacitaError",
    "Trees",
    "Unit",
    "Workload",
    "__version__",
    "anonymize",
    "assess",
    "collect",
    "connect",
    "errors",
    "learn",
    "models",
    "query",
    "synthesize",
]


def test_importing_the_package_loads_nothing_heavy():
    script = "import sys, tacita; print([m for m in ('numpy', 'pyarrow', 'numba', 'fastapi') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
