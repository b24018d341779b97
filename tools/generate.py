"""Writes what is generated from the code: the published schemas, contract and vectors, and the reference pages.

python tools/generate.py           write all files
python tools/generate.py --check   fail when one is not what the code says
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import export_openapi
import gen_vectors
import typer
import wrap_docs

from tacita.cli import app
from tacita.cli.main import __doc__ as exit_codes
from tacita.domain import Domain

ROOT = Path(__file__).resolve().parent.parent


def domain_schema() -> str:
    return json.dumps(Domain.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def commands(command: Any, name: str, context: Any = None) -> Iterator[tuple[str, Any]]:
    """A command and all below it, each with the context that knows its full name."""
    here = command.context_class(command, info_name=name, parent=context)
    yield here.command_path, here
    if hasattr(command, "list_commands"):
        for child in command.list_commands(here):
            found = command.get_command(here, child)
            if found is not None:
                yield from commands(found, child, here)


def cli_page() -> str:
    parts = ["# Command line", "", "Generated from the program. Every command takes `--help`.", ""]
    for path, context in commands(typer.main.get_command(app), "tacita"):
        command = context.command
        parts += [f"## `{path}`", "", (command.help or "").replace("[dim]", "`").replace("[/]", "`").strip(), ""]
        rows = [_row(parameter) for parameter in command.get_params(context) if parameter.name != "help"]
        if rows:
            parts += ["| | | |", "|---|---|---|", *rows, ""]
    codes = (exit_codes or "").split("\n", 2)[2]
    return "\n".join([*parts, "## Exit codes", "", "```", codes.strip("\n"), "```", ""])


def _row(parameter: Any) -> str:
    names = (
        ", ".join(f"`{name}`" for name in parameter.opts)
        if parameter.param_type_name == "option"
        else f"`{parameter.name}`"
    )
    default = parameter.default
    shown = "" if default in (None, False, ()) or callable(default) else f"default `{default}`"
    needed = "required" if parameter.required else shown
    return f"| {names} | {getattr(parameter, 'help', '') or ''} | {needed} |"


def files() -> dict[Path, str]:
    """All generated files and what they should hold."""
    found = {
        ROOT / "spec" / "schema" / "domain.schema.json": domain_schema(),
        ROOT / "spec" / "openapi.json": export_openapi.contract(),
        ROOT / "docs" / "reference" / "cli.md": wrap_docs.wrap(cli_page()),
    }
    return found | {ROOT / "spec" / "vectors" / name: text for name, text in gen_vectors.files().items()}


def main(arguments: list[str]) -> int:
    drifted = []
    for path, text in files().items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        drifted.append(str(path.relative_to(ROOT)))
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if "--check" in arguments and drifted:
        print(f"not what the code says, run `make docs`: {', '.join(drifted)}")
        return 1
    print(f"generated files: {'wrote ' + ', '.join(drifted) if drifted else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
