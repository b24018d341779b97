"""`tacita holder`: take part in a federated synthesis; the data stays in place."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from tacita.cli.parts import show
from tacita.cli.parts.options import Again, Data, SchemaFile, State, TableName, database_of, session_of
from tacita.common.extras import needs_extra
from tacita.domain import Domain
from tacita.errors import Conflict, InvalidInput
from tacita.privacy.ledger import Ledger
from tacita.synthesize.federated import Holder, Limits
from tacita.synthesize.federated.terms import SHARING, Sharing

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def token(file: Annotated[Path, typer.Argument(help="The file for the new token; must not exist.")]) -> None:
    """Write a new token to a file that only you can read. Give a copy to the analyst over a secure channel."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Conflict("exists already", field="file", value=file) from None
    except OSError as error:
        raise InvalidInput("cannot be written", field="file", value=f"{file}: {error.strerror}") from None
    with os.fdopen(handle, "w", encoding="utf-8") as target:
        target.write(secrets.token_hex(32) + "\n")
    show.say(f"Wrote a token to {file}.")


@app.command()
def serve(
    data: Data,
    schema: SchemaFile,
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    token_file: Annotated[Path, typer.Option("--token-file", help="The file with the token an analyst must show.")],
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)],
    name: Annotated[str | None, typer.Option(help="Name of this holder in the terms; the account by default.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    most: Annotated[
        float | None, typer.Option(help="Most that one run may cost, in the currency of the account.")
    ] = None,
    methods: Annotated[str, typer.Option(help="Allowed methods.")] = ",".join(SHARING),
    overlap: Annotated[bool, typer.Option(help="Whether terms may allow people at several holders.")] = True,
    table: TableName = None,
    again: Again = None,
    state: State = None,
) -> None:
    """Answer an analyst's steps with private answers, paid from this holder's own account.

    [dim]tacita holder serve north.csv -s people.yaml -a north --token-file north.token --port 8701 --most 1[/]
    """
    from tacita.client.holder import read_token

    with needs_extra("server", "a holder's service"):
        from tacita.server.holder import create_holder_app, serve_holder

    secret, database, domain = read_token(token_file), database_of(state), Domain.read(schema)
    ledger = Ledger(database)
    paying = ledger.account(account)
    session = session_of(
        ledger,
        account=paying.name,
        data=data,
        domain=domain,
        table=table,
        again=again,
        principal="federated analyst",
    )
    session.engine.check()  # data that does not fit the schema fails now, and not in the middle of a run
    limits = Limits(most=most, methods=_methods(methods), overlap=overlap)
    holder = Holder(name=name or paying.name, session=session, ledger=ledger, limits=limits)
    app_ = create_holder_app(holder, token=secret, database=database)
    show.say(f"Holder {holder.name} answers at http://{host}:{port}  (schema {domain.fingerprint}, stop: Ctrl-C)")
    serve_holder(app_, host=host, port=port)


def _methods(text: str) -> tuple[Sharing, ...]:
    named = [part.strip() for part in text.split(",")]
    known = tuple(method for method in SHARING if method in named)
    if len(known) != len(named):
        raise InvalidInput(f"must be among {', '.join(SHARING)}, each once", field="methods", value=text)
    return known
