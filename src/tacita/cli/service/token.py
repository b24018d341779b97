"""`tacita token`: who may use the service."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import typer

from tacita.cli.parts import show
from tacita.cli.parts.options import Json, State, database_of
from tacita.common.roles import Role
from tacita.errors import InvalidInput
from tacita.server.auth.tokens import Tokens

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the person or program.")],
    role: Annotated[Role, typer.Option(help="Role: the rights of the token.")],
    dataset: Annotated[
        list[str] | None, typer.Option(help="A dataset or campaign in its scope; may be repeated.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All datasets and campaigns, also later ones.")] = False,
    days: Annotated[int | None, typer.Option(help="Days until it expires.", min=1)] = 90,
    state: State = None,
    json: Json = False,
) -> None:
    """Create a token. It is shown once and stored only as a digest.

    [dim]tacita token create board --role reader --all[/]
    """
    if role != "admin" and bool(dataset) == everything:
        raise InvalidInput(
            "state the scope: names, or all", field="dataset", hint="Pass --dataset NAME, once or more, or --all"
        )
    if role == "admin" and dataset:
        raise InvalidInput("an admin may use everything", field="dataset", hint="Choose another role")
    expires = dt.datetime.now(dt.UTC) + dt.timedelta(days=days) if days else None
    issued = Tokens(database_of(state)).issue(name=name, role=role, datasets=dataset, expires=expires)
    if json:
        show.print_json(issued.token.as_dict() | {"token": issued.text})
        return
    show.say(f"Token {issued.token.id} for {name} ({role}). Keep it: it is not shown again.")
    print(issued.text)


@app.command("list")
def list_tokens(state: State = None, json: Json = False) -> None:
    """List tokens, without their secrets."""
    tokens = Tokens(database_of(state)).list()
    if json:
        show.print_json([token.as_dict() for token in tokens])
        return
    rows = [
        (
            token.id,
            token.name,
            token.role,
            ", ".join(token.datasets) if token.datasets is not None else "all",
            f"{token.expires:%Y-%m-%d}" if token.expires else "never",
            "revoked" if token.revoked else "",
        )
        for token in tokens
    ]
    show.grid("Tokens", ("id", "name", "role", "datasets", "expires", ""), rows)


@app.command()
def revoke(id: Annotated[str, typer.Argument(help="The token's id.")], state: State = None) -> None:
    """Revoke a token, at once."""
    Tokens(database_of(state)).revoke(id)
    show.say(f"Revoked {id}.")
