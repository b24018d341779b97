"""Imports point downwards only, and outside libraries stay in their rooms.

A module may import what stands on a lower floor, or beside it in its own package. Rooms on one floor do not know
each other. Prints every breach; exit status 1 when there is one.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "tacita"

FLOORS = [
    {"_version", "errors"},
    {"check", "common"},
    {"domain", "figures", "noise", "store"},
    {"privacy"},
    {"tables"},
    {"engines", "models"},
    {"plans", "settings"},
    {"collect", "query", "synthesize"},
    {"anonymize"},
    {"report"},
    {"demo", "learn"},
    {"assess", "wire"},
    {"calculators", "client", "recipes"},
    {"server"},
    {"console"},
    {"cli", "testing"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

# what only some rooms may import; everything else may be imported anywhere
ROOMS_OF = {
    "numba": ("common.compiled",),
    "opendp": ("noise._opendp",),
    "cryptography": ("collect.campaigns.invitations", "learn.functions.sealing", "noise.source", "report.signing"),
    "dp_accounting": ("privacy.accountant", "privacy.renyi"),
    "psycopg": ("engines.postgres",),
    "adbc_driver_postgresql": ("engines.postgres",),
    "adbc_driver_manager": ("engines.postgres",),
    "pyspark": ("engines.spark",),
    "pymongo": ("engines.mongo",),
    "bson": ("engines.mongo",),
    "sqlalchemy": (
        "store",
        "privacy.ledger",
        "privacy.reopening",
        "report.release_log",
        "collect.campaigns",
        "learn.functions.bundle",
        "learn.functions.registry",
        "learn.functions.service",
        "server",
    ),
    "alembic": ("store",),
    "sqlglot": ("query.sql",),
    "fastapi": ("server", "console", "cli.service.serve"),
    "starlette": ("server", "console"),
    "nicegui": ("console",),
    "uvicorn": ("server",),
    "huey": ("server",),
    "prometheus_client": ("server",),
    "msgspec": ("server",),
    "httpx": ("client", "console.api", "cli.service.serve", "server.auth.openid"),
    "joserfc": ("server.auth.openid",),
    "typer": ("cli",),
    "rich": ("cli",),
    "sklearn": ("assess", "learn", "synthesize.imputation", "synthesize.text"),
    "charset_normalizer": ("engines.local.files.sniff",),
    "duckdb": ("engines.local.files.duckdb",),
    "pyreadstat": ("engines.local.files.statistical",),
    "python_calamine": ("engines.local.files.workbook",),
    "torch": ("models.neural.backend",),
    "textblob": ("synthesize.text.tagger",),
    "nltk": (),
    "statsmodels": ("models.continuous",),
    "opacus": (),
    "pandas": (),
    "polars": ("tables.tabular",),
    "xlsxwriter": ("tables.workbook",),
    "pytest": ("testing",),
}


def imported(tree: ast.AST) -> list[tuple[int, str]]:
    """All modules that a file imports, wherever in it, but not those for type checking alone."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append((node.lineno, node.module))
            if node.module == "tacita":
                found += [(node.lineno, f"tacita.{name.name}") for name in node.names if name.name in FLOOR]
    return found


def breaches(path: Path, source: str) -> list[str]:
    """What is wrong with the imports of one file."""
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    room = path.parts[0].removesuffix(".py")
    wrong = []
    for line, name in imported(ast.parse(source)):
        top, _, rest = name.partition(".")
        where = f"src/tacita/{path}:{line}"
        if top == "tacita" and rest:
            target = rest.partition(".")[0]
            if target != room and FLOOR[target] >= FLOOR[room]:
                wrong.append(f"{where}: {room} may not import {target}, which is not below it")
        elif top in ROOMS_OF and not any(f"{module}.".startswith(f"{allowed}.") for allowed in ROOMS_OF[top]):
            wrong.append(f"{where}: {top} belongs in {' or '.join(ROOMS_OF[top]) or 'no room'}")
    return wrong


def main() -> int:
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        path = file.relative_to(ROOT)
        if path.parts[0] != "__init__.py":
            wrong += breaches(path, file.read_text(encoding="utf-8"))
    print("\n".join(wrong) or "imports: all point downwards")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
