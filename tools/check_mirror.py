"""Tests mirror src/tacita file by file: `room/name.py` is tested by `tests/room/test_name.py`.

Two tables list what differs, and why: `ROOMS` for whole rooms that are tested through their surface, `TOGETHER` for
modules that are one thought and are tested in one file. Prints every module that is in neither, and every line of the
tables that is not needed any more; exit status 1 when there is one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# rooms whose modules are tested through their surface: (tests, reason)
ROOMS = {
    "cli": ("cli", "a command is run as a user runs it; several commands of one story share a file"),
    "cli/assessing": ("cli", "commands are run as a user runs them"),
    "cli/collecting": ("cli", "commands are run as a user runs them"),
    "cli/learning": ("cli", "commands are run as a user runs them"),
    "cli/parts": ("cli", "commands are run as a user runs them"),
    "cli/rows": ("cli", "commands are run as a user runs them"),
    "cli/service": ("cli", "commands are run as a user runs them"),
    "client": ("client/test_client.py", "one client of several parts, against a running server"),
    "collect/channels/parts": ("collect/channels", "shared parts are tested with each channel that uses them"),
    "console": ("browser", "pages are tested in a real browser"),
    "console/look": ("browser", "parts of pages are tested in a real browser"),
    "console/pages": ("browser", "pages are tested in a real browser"),
    "console/parts": ("browser", "parts of pages are tested in a real browser"),
    "calculators": ("calculators/test_registry.py", "every calculator passes the same tests"),
    "recipes": ("recipes/test_registry.py", "every kind of paid answer passes the same tests"),
    "server/routes": ("server", "a route is tested with the noun behind it, and all of them by test_serialise.py"),
    "server/routes/campaigns": ("server", "as all routes"),
    "server/routes/releases": ("server", "as all routes"),
    "testing": ("testing", "contracts are run by the rooms they are for, each with a broken twin"),
    "wire": ("server/test_serialise.py", "models of requests and answers: every one is sent through its route"),
    "wire/rows": ("server/test_serialise.py", "as all models"),
}

# test file: the modules beside the one of its name that it tests, relative to its room where no room is named
TOGETHER = {
    "anonymize/test_loss.py": ("labels",),
    "assess/compare/test_compare.py": ("comparison", "page", "plan", "reasons", "run"),
    "assess/decisions/test_asked.py": ("page",),
    "assess/test_assessment.py": ("options", "assess/utility/registry"),
    "assess/test_disclosure.py": ("scenario",),
    "collect/analysis/test_findings.py": ("hypothesis",),
    "collect/analysis/test_independence.py": ("independence_counts", "independence_simulated"),
    "collect/campaigns/test_intake.py": ("campaign",),
    "collect/campaigns/test_store.py": ("terms",),
    "collect/channels/test_geometric.py": ("matrix",),
    "collect/channels/test_hashing.py": ("support",),
    "collect/channels/numbers/test_numeric.py": ("window",),
    "collect/channels/test_oracles.py": ("frequencies", "protocol"),
    "collect/device/test_channels.py": ("draw", "refusal"),
    "collect/device/test_device.py": ("ledger",),
    "collect/estimating/test_consistency.py": ("publish", "tally"),
    "collect/planning/test_plan.py": ("design", "rehearse"),
    "demo/test_run.py": ("census",),
    "engines/local/test_engine.py": ("store",),
    "server/auth/test_tokens.py": ("common/roles",),
    "engines/local/files/test_draft.py": ("conversion", "sniff", "text"),
    "engines/local/files/test_open.py": ("arrow", "base", "duckdb", "frame", "parquet", "statistical", "workbook"),
    "engines/local/test_isolated.py": ("reader",),
    "engines/local/test_kernels.py": ("counter", "layout"),
    "engines/mongo/test_engine.py": ("compile", "driver", "flatten"),
    "engines/spark/test_engine.py": ("address", "counts", "session", "sources", "tasks"),
    "engines/postgres/test_engine.py": ("compile", "driver", "names"),
    "engines/consent/test_engine.py": ("filter",),
    "engines/test_coded.py": ("applying", "checking"),
    "engines/local/test_contract.py": ("engines/base",),
    "learn/functions/test_parametric.py": ("histogram", "inputs", "kinds"),
    "learn/functions/test_registry.py": ("bundle", "releasing", "sealing"),
    "learn/functions/test_sensitivity.py": ("density", "expansion", "features", "gaussian_process"),
    "learn/neural/test_network.py": ("fitted_network", "layers", "network_training"),
    "learn/regression/test_cubes.py": ("learn/regression/methods/functional",),
    "learn/regression/test_moments.py": ("monomials",),
    "learn/regression/test_regression.py": (
        "logistic",
        "unit_rows",
        "learn/regression/methods/adassp",
        "learn/regression/methods/dpme",
        "learn/regression/methods/objective",
        "learn/regression/methods/output",
        "learn/regression/methods/sufficient",
    ),
    "learn/regression/test_tuning.py": ("problem", "learn/compare"),
    "learn/test_models.py": ("envelope", "fitted", "kinds"),
    "learn/trees/test_trees.py": ("fitted_trees", "splitting"),
    "models/neural/test_training.py": ("backend",),
    "noise/test_law.py": ("gaussian", "laplace"),
    "plans/test_additive.py": ("recipe",),
    "privacy/risk/test_at_risk.py": ("bessel",),
    "privacy/test_ledger.py": ("account",),
    "query/sql/test_compiling.py": ("conditions", "read", "rowwise", "scope", "stages"),
    "query/test_aggregates.py": ("aggregate", "calibrated"),
    "query/models/test_kmeans.py": ("point_model", "points"),
    "query/test_measures.py": ("quantiles", "readings"),
    "query/models/test_network.py": ("released_network",),
    "query/test_statistics.py": ("answer",),
    "server/releasing/test_anonymized.py": ("server/data/policies", "unpaid"),
    "server/releasing/test_synthetic.py": ("answers", "files"),
    "server/releasing/test_federated.py": ("synthesize/federated/planning",),
    "server/routes/test_query.py": ("server/releasing/queries",),
    "server/routes/test_assessments.py": ("server/releasing/assessments",),
    "server/routes/campaigns/test_campaigns.py": ("server/campaigns",),
    "server/jobs/test_supervisor.py": ("worker",),
    "server/test_holder.py": ("events",),
    "server/test_openapi.py": ("app", "services"),
    "store/test_database.py": ("schema",),
    "synthesize/federated/test_analyst.py": ("kinds",),
    "synthesize/gan/test_adversarial.py": ("conditional", "matching", "networks", "wgan"),
    "synthesize/gan/test_generator.py": ("encode",),
    "synthesize/gan/test_images.py": ("student",),
    "synthesize/gan/test_pate_gan.py": ("maker",),
    "synthesize/imputation/test_backends.py": ("backend", "linear", "network", "trees"),
    "synthesize/imputation/test_combining.py": ("columns", "sequence", "tables/combining"),
    "synthesize/imputation/test_recipe.py": ("masks",),
    "figures/test_picture.py": ("style",),
    "synthesize/mobility/test_od.py": ("od_model",),
    "synthesize/mobility/test_tours.py": ("tours_kernel", "tours_model"),
    "synthesize/mobility/test_walk.py": ("walk_model",),
    "synthesize/relational/test_relational.py": ("folder", "related", "engines/linked"),
    "synthesize/test_marginals.py": ("noisy_network", "plan"),
    "synthesize/test_rules.py": ("ruled",),
    "tables/recoding/test_recoding.py": ("axis", "render"),
}


def modules(root: Path) -> list[str]:
    """Every module that needs a test, as `room/name`: not packages, private parts and migrations."""
    source = root / "src" / "tacita"
    found = (path.relative_to(source).with_suffix("") for path in sorted(source.rglob("*.py")))
    return [path.as_posix() for path in found if not path.name.startswith("_") and "migrations" not in path.parts]


def _named(file: str, name: str) -> str:
    return name if "/" in name else f"{file.rpartition('/')[0]}/{name}"


def breaches(
    root: Path = ROOT,
    rooms: dict[str, tuple[str, str]] = ROOMS,
    together: dict[str, tuple[str, ...]] = TOGETHER,
) -> list[str]:
    """Sentences on what has no test in its place, and on lines of the tables that are wrong."""
    tests, present, wrong = root / "tests", modules(root), []
    mirrored = {name for name in present if (tests / Path(name).parent / f"test_{Path(name).name}.py").is_file()}
    elsewhere = [_named(file, name) for file, names in together.items() for name in names]
    for name in present:
        if name not in mirrored and name not in elsewhere and name.rpartition("/")[0] not in rooms:
            wrong.append(f"src/tacita/{name}.py: has no tests/{Path(name).parent}/test_{Path(name).name}.py")
    wrong += [f"{place}: there are no such tests" for place, _ in rooms.values() if not (tests / place).exists()]
    wrong += [f"{room}: there is no such room" for room in rooms if not (root / "src" / "tacita" / room).is_dir()]
    wrong += [f"{file}: there are no such tests" for file in together if not (tests / file).is_file()]
    wrong += [f"{name}: there is no such module" for name in elsewhere if name not in present]
    wrong += [f"{name}: has a file of its own, and needs no line" for name in elsewhere if name in mirrored]
    wrong += [f"{name}: is named twice" for name in sorted(set(elsewhere)) if elsewhere.count(name) > 1]
    return wrong


def main() -> int:
    wrong = breaches()
    print("\n".join(wrong) or f"tests: mirror {len(modules(ROOT))} modules")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
