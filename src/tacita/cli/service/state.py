"""`tacita state`: back the state up, and restore it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tacita.cli.parts import show
from tacita.cli.parts.options import Json, State, database_of
from tacita.store.backup import Copied, back_up
from tacita.store.backup import restore as restore_state

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The new file; readable by its owner alone.")],
    state: State = None,
    json: Json = False,
) -> None:
    """Copy the whole state into a file, while the service goes on. Accounts are closed in the copy.

    Files (uploaded sources, rows of releases, the signing key) are not in it: copy TACITA_HOME afterwards.

    [dim]tacita state backup /backups/2026-11-19.state[/]
    """
    database = database_of(state)
    copied = back_up(database, file, principal="command line")
    if json:
        show.print_json(_as_dict(copied))
        return
    show.say(f"{sum(copied.rows.values()):,} rows of {len(copied.rows)} tables are in {escape(str(file))}.")
    show.say(f"Copied from: {escape(database.url.render_as_string(hide_password=True))}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `tacita state backup` wrote.")],
    state: State = None,
    json: Json = False,
) -> None:
    """Put a backup into an empty state database. Its accounts stay closed until you state what was spent since.

    Stop all servers and workers first.

    [dim]tacita state restore /backups/2026-11-19.state --state postgresql://tacita@db/tacita[/]
    """
    copied = restore_state(file, database_of(state), principal="command line")
    if json:
        show.print_json(_as_dict(copied))
        return
    show.say(f"{sum(copied.rows.values()):,} rows of {len(copied.rows)} tables were restored.")
    show.say(
        f"{copied.closed} account(s) are closed: the backup does not know what was spent after it. State it for each:\n"
        "  tacita budget reopen ACCOUNT --spent AMOUNT        what it had spent in the end\n"
        "  tacita budget reopen ACCOUNT --history FILE        an export that was made later\n"
        "  tacita budget reopen ACCOUNT --all-spent           nothing is known\n"
        "New accounts begin closed until: tacita budget reopen --new-accounts REASON\n"
        "Tokens that were revoked after the backup are valid again: see tacita token list."
    )


def _as_dict(copied: Copied) -> dict[str, object]:
    return {"rows": copied.rows, "closed": copied.closed}
