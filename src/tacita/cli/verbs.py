"""The verbs of the command line, each in a module that is loaded when the verb is used."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from tacita.cli.parts import show

__all__ = ["VERBS", "Interrupted", "Verbs"]


class Interrupted(Exception):
    """The user stopped a command with Ctrl-C; `notes` say what was spent."""

    def __init__(self, notes: tuple[str, ...]) -> None:
        super().__init__("stopped")
        self.notes = notes


class Verb(NamedTuple):
    """Module of a verb, and its line in `tacita --help`: the help of a group, or the first line of a command's help."""

    help: str
    module: str
    attribute: str = "app"
    also: tuple[str, ...] = ()
    """Modules that add commands to it."""


VERBS = {
    "schema": Verb("Draft, check and confirm the public schema of the data.", "schema"),
    "budget": Verb("Open accounts and see what was spent.", "budget"),
    "collect": Verb(
        "Run local-privacy surveys: plan, run a campaign, read the results.",
        "collecting.collect",
        also=("collecting.campaign", "collecting.findings"),
    ),
    "query": Verb("Release private counts, histograms and statistics, paid from an account.", "query", "query"),
    "release": Verb(
        "Release tables, statistics, clusters, components, bounds or a network, paid from an account.", "release"
    ),
    "anonymize": Verb("Release k-anonymous rows, or nothing.", "rows.anonymize", "anonymize"),
    "mask": Verb(
        "Mask rows by microaggregation, PRAM, coding, rounding, local suppression. No guarantee but that of PRAM.",
        "rows.mask",
        "mask",
    ),
    "hierarchy": Verb("Build generalisation hierarchies, and see what each level loses.", "rows.hierarchy"),
    "suppress": Verb(
        "Release tables in which small and dominated cells, and enough others, are suppressed. No privacy guarantee.",
        "rows.suppress",
        "suppress",
    ),
    "log": Verb("Anonymize logs: events over time, sets of items, rows that keep arriving.", "rows.log"),
    "synthesize": Verb("Release synthetic rows, paid from an account.", "rows.synthesize", "synthesize"),
    "model": Verb("Draw more rows from a released model, or ask it for shares; costs nothing.", "rows.model"),
    "network": Verb(
        "Learn Bayesian networks from exact rows, compare them, estimate effects. No privacy guarantee.",
        "learning.network",
        also=("learning.network_figures",),
    ),
    "text": Verb(
        "Train generators of headlines, draw from them, measure what they have memorised.",
        "rows.text",
        also=("rows.text_figures",),
    ),
    "relate": Verb("Release synthetic parents and children, paid from an account.", "rows.relate", "relate"),
    "mobility": Verb("Tap records: find communities, release synthetic ones, assess them.", "rows.mobility"),
    "impute": Verb(
        "Replace sensitive cells by draws, several times. No privacy guarantee: read the assessment first.",
        "rows.impute",
        "impute",
    ),
    "learn": Verb("Fit differentially private models.", "learning.learn"),
    "function": Verb(
        "Release functions of private rows, which may then be asked any number of times.", "learning.functions"
    ),
    "federate": Verb("Synthesize from several holders; their data stays with them.", "rows.federate"),
    "holder": Verb("Take part in a federated synthesis; the data stays here.", "rows.holder"),
    "assess": Verb(
        "Attack a release and measure its utility. For the owner: figures come from exact rows.",
        "assessing.assess",
        "assess",
    ),
    "compare": Verb(
        "Simulate several releases, assess them in the same way, and recommend one with reasons.",
        "assessing.assess",
        "compare",
    ),
    "disclosure": Verb(
        "Measure how well records are found by their quasi-identifiers. For the owner: figures come from exact rows.",
        "assessing.disclosure",
        "disclosure",
    ),
    "audit": Verb(
        "Audit the library, the catalogue of broken mechanisms, a trained model, or your own function.",
        "assessing.audit",
        "audit",
    ),
    "decide": Verb(
        "Test independence on released tables, and find how likely noise turned a decision; costs nothing.",
        "assessing.decisions",
    ),
    "warm": Verb(
        "Compile all kernels now, so that no first command waits for them.",
        "service.warm",
        "warm",
    ),
    "verify": Verb(
        "Check signature, files and arithmetic of a privacy statement. Exit status 3 if something does not hold.",
        "assessing.verify",
        "verify",
    ),
    "risk": Verb("Compute losses, odds, prices and chances from public numbers; reads no data.", "assessing.risk"),
    "serve": Verb(
        "Serve the REST interface and the console, with a worker for long jobs. Settings: docs/reference/settings.md.",
        "service.serve",
        "serve",
    ),
    "worker": Verb(
        "Do the long jobs of a service, without a server beside it; any number may run, on any host.",
        "service.worker",
        "worker",
    ),
    "state": Verb("Back up the state of the service, and restore it; restored accounts begin closed.", "service.state"),
    "token": Verb("Create, list and revoke the service's tokens.", "service.token"),
    "demo": Verb(
        "Simulate a census, release private statistics, collect one attribute from respondents, write a report.",
        "service.demo",
        "demo",
    ),
}


class Verbs(TyperGroup):
    """The group of all verbs: help is written from the table, and a verb's module is imported when it is used."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb; while help is written only its name and line."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=verb.help)
        for module in verb.also:
            import_module(f"tacita.cli.{module}")
        found = getattr(import_module(f"tacita.cli.{verb.module}"), verb.attribute)
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
            command.help = verb.help
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(cmd_name)(found)
            command = typer.main.get_command(alone)
        command.name = cmd_name
        _add_quiet(command)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; Ctrl-C becomes an exception that `main` explains."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(tuple(getattr(stop, "__notes__", ()))) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of verbs."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def _quieten(wanted: bool) -> None:
    if wanted:
        show.show_no_progress()


def _only_quiet(
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", callback=_quieten, expose_value=False, help="Show no progress."),
    ] = False,
) -> None:
    pass


def _add_quiet(command: Any) -> None:
    """Give a command, or all commands of a group, the option `--quiet`."""
    if hasattr(command, "commands"):
        for each in command.commands.values():
            _add_quiet(each)
        return
    carrier = typer.Typer(add_completion=False)
    carrier.command()(_only_quiet)
    command.params += typer.main.get_command(carrier).params
