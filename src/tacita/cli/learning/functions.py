"""`tacita function`: functions of private rows, released once and queried without limit; fitted models in bundles."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, check_files, paid_already
from tacita.cli.parts.options import (
    Again,
    Data,
    Delta,
    Epsilon,
    Json,
    Rho,
    SchemaFile,
    State,
    TableName,
    budget_of,
    database_of,
    ledger_at,
    session_of,
)
from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput, TacitaError
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.functions.bundle import export_bundle, load_bundle
from tacita.learn.functions.calibration import Calibration
from tacita.learn.functions.inputs import MOST_QUERIES
from tacita.learn.functions.predicted_error import warning
from tacita.learn.functions.recipe import Form, FunctionKind
from tacita.learn.functions.registry import Entry, Registry, check_name
from tacita.learn.functions.releasing import KeptPlan, activate
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.report.signing import SigningKey
from tacita.settings import Settings

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

Ref = Annotated[str, typer.Argument(help="Its name, name@version, or id.")]


def _registry(state: str | None) -> Registry:
    key = Settings.load().models_key
    return Registry(database_of(state), Seal(None if key is None else key.get_secret_value()))


@app.command()
def release(
    data: Data,
    schema: SchemaFile,
    name: Annotated[str, typer.Option("--name", help="Name of the function; a name that is taken gets a new version.")],
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    kind: Annotated[FunctionKind, typer.Option(help="Kind of function.")],
    features: Annotated[str, typer.Option(help="Inputs of the function: age,income.")],
    target: Annotated[str | None, typer.Option(help="The response, or the class.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    kernel: Annotated[str, typer.Option(help="gaussian, matern12, matern32 or matern52.")] = "gaussian",
    bandwidth: Annotated[float, typer.Option(help="Bandwidth, as a share of the public ranges.")] = 0.1,
    form: Annotated[
        Form, typer.Option(help="`features` has constant memory; its parameters may be published.")
    ] = "path",
    random: Annotated[int, typer.Option(help="Random frequencies, for the form `features`.")] = 256,
    seed: Annotated[int, typer.Option(help="Public seed of the random frequencies.")] = 0,
    calibration: Annotated[Calibration, typer.Option(help="Calibration of the noise.")] = "analytic",
    noise: Annotated[float, typer.Option(help="For a Gaussian process: variance of noise over signal.")] = 0.1,
    c: Annotated[float, typer.Option("--c", help="For a kernel machine: weight of rows against its norm.")] = 10.0,
    people: Annotated[int | None, typer.Option(help="Approximate number of rows, if it is not public.")] = None,
    public_inputs: Annotated[
        bool,
        typer.Option("--public-inputs", help="For a Gaussian process: you know that only responses are protected."),
    ] = False,
    accept_noise: Annotated[
        bool, typer.Option("--accept-noise", help="Release it even if its noise is larger than the range of answers.")
    ] = False,
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Release a function, paid from an account; queries cost nothing more.

    [dim]tacita function release p.csv -s p.yaml -a p --name f --kind density --features age --epsilon 1 --delta 1e-6[/]
    """
    registry, domain = _registry(state), Domain.read(schema)
    ledger = ledger_at(registry.database)
    paying = ledger.account(account)
    recipe = ReleaseFunction(
        kind=kind,
        features=tuple(part.strip() for part in features.split(",")),
        target=target,
        kernel=Kernel(name=kernel, bandwidth=bandwidth),
        form=form,
        random=random,
        seed=seed,
        calibration=calibration,
        noise=noise,
        c=c,
        people=people,
        public_inputs=public_inputs,
        accept_noise=accept_noise,
    )
    budget = budget_of(epsilon, delta, rho)
    check_name(name)
    plan = recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)
    if dry_run:
        facts = [("kind", kind), ("noise, in sensitivities", _said(plan.multiplier))]
        error = plan.predict_error()
        if error is not None:
            facts.append(("noise of an answer", error.words))
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), facts, as_json=json)
        return
    session = session_of(
        ledger,
        account=paying.name,
        data=data,
        domain=domain,
        table=table,
        again=again,
    )
    kept = KeptPlan(plan=plan, registry=registry, name=name)
    key = key or f"function-{uuid.uuid4().hex[:16]}"
    answer = session.ask(kept, purpose="release a function", key=key)
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        entry = activate(registry, answer)
    if json:
        show.print_json(entry.as_dict() | {"balance": session.balance().as_dict()})
        return
    show.grid("Function", ("", ""), _facts(entry))
    show.balance(session.balance())


def _facts(entry: Entry) -> list[tuple[str, str]]:
    about = entry.about
    only = "answers only" if about["form"] == "path" else "answers and parameters"
    reference = about.get("reference")
    said = None if reference is None else warning(about["noise_std"], reference["value"], reference["what"])
    return [
        ("name", f"{entry.name}@{entry.version}"),
        ("id", entry.id),
        ("kind", f"{about['kind']}, {about['form']}"),
        ("a function of", ", ".join(about["features"])),
        ("protects", f"{about['protects']} ({about['unit']}, {about['neighbours']})"),
        ("noise of an answer, std", _said_noise(about)),
        *([] if said is None else [("warning", said)]),
        ("may leave", only),
        ("at rest", "encrypted" if entry.sealed else "not encrypted: set TACITA_MODELS_KEY before releasing"),
    ]


@app.command()
def predict(
    ref: Ref,
    at: Annotated[list[str] | None, typer.Option("--at", help="A point: 34,52000. Several may be given.")] = None,
    points: Annotated[Path | None, typer.Option(help="A CSV with a column for each feature, instead.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Query a function at some points; the same point always has the same answer.

    [dim]tacita function predict ages --at 34 --at 71[/]
    """
    registry = _registry(state)
    entry = registry.get(ref)
    names = [str(name) for name in entry.about["features"]]
    if (at is None) == (points is None):
        raise InvalidInput("give points one by one, or a file of them", field="at")
    texts = [text.split(",") for text in at] if at is not None else _read(points, names)
    asked = [_point(entry, names, each) for each in texts]
    service = FunctionService(registry, SecureSource())
    parts = [service.predict(entry.id, asked[i : i + MOST_QUERIES]) for i in range(0, len(asked), MOST_QUERIES)]
    found = [value for part in parts for value in part.values]
    labels = [label for part in parts for label in part.labels or ("",) * len(part.values)]
    if json:
        plain = {"model": entry.id, "values": found, "noise_std": entry.about["noise_std"]}
        show.print_json(plain | {"labels": labels if any(labels) else None, "warning": parts[0].warning})
        return
    rows = [
        (
            ", ".join(map(str, point)),
            ", ".join(map(_said, value)) if isinstance(value, tuple) else _said(value),
            label,
        )
        for point, value, label in zip(asked, found, labels, strict=True)
    ]
    show.grid(f"{entry.name}@{entry.version}", (", ".join(names), ">value", "class"), rows)
    show.say(f"Noise of each value: standard deviation {_said_noise(entry.about)}.")
    if parts[0].warning is not None:
        show.say(f"[bold]Warning[/]: {parts[0].warning}")


def _said(value: float) -> str:
    return f"{value:.6g}"


def _said_noise(about: Mapping[str, Any]) -> str:
    noise = about["noise_std"]
    return "not stated: see the parameters" if noise is None else _said(noise)


def _point(entry: Entry, names: list[str], texts: list[str]) -> list[Any]:
    """Parse a point: numbers where the schema has numbers; a level named 1 stays a text."""
    kinds = Domain.from_dict(entry.about["domain"])
    if len(texts) != len(names):
        return [text.strip() for text in texts]  # the function refuses points of a wrong length
    numbers = Numeric if entry.about["form"] in ("table", "parameters") else Numeric | Boolean
    return [
        _value(text) if isinstance(kinds[name], numbers) else text.strip()
        for name, text in zip(names, texts, strict=True)
    ]


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def _read(path: Path | None, names: list[str]) -> list[list[str]]:
    assert path is not None
    try:
        types = {name: pa.string() for name in names}
        options = pa_csv.ConvertOptions(include_columns=names, column_types=types)
        table = pa_csv.read_csv(path, convert_options=options)
    except (OSError, KeyError, pa.ArrowException):
        raise InvalidInput(f"must be a CSV with the columns {', '.join(names)}", field="points", value=path) from None
    columns = [table.column(name).to_pylist() for name in names]
    return [[value or "" for value in row] for row in zip(*columns, strict=True)]


@app.command("list")
def list_(state: State = None, json: Json = False) -> None:
    """List all functions, newest first."""
    found = _registry(state).list(limit=1000)
    if json:
        show.print_json([entry.as_dict() for entry in found])
        return
    rows = [
        (f"{entry.name}@{entry.version}", str(entry.about["kind"]), entry.state, f"{entry.points:,}", entry.id)
        for entry in found
    ]
    show.grid("Functions", ("name", "kind", "state", ">points", "id"), rows)


@app.command()
def export(
    ref: Ref,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; it must not exist yet.")],
    state: State = None,
) -> None:
    """Write a function as a signed bundle. One with a noise path is moved: it answers no new points here afterwards.

    [dim]tacita function export ages -o ages.bundle.json[/]
    """
    check_files(JSON, output=output)
    if output.exists() or not output.parent.is_dir():
        raise InvalidInput("must be a new file in a folder that exists", field="output", value=output)
    signer = SigningKey.of(Settings.load().home)
    registry = _registry(state)
    with output.open("x", encoding="utf-8") as file:  # before it is moved: a bundle is written once
        try:
            file.write(export_bundle(registry, ref, signer))
        except TacitaError:
            output.unlink()
            raise
    show.say(f"Signed by {signer.public}")


@app.command()
def load(
    bundle: Annotated[Path, typer.Argument(help="A bundle that `tacita function export` wrote.")],
    signed_by: Annotated[
        list[str] | None, typer.Option("--signed-by", help="A public key that you trust. One's own if not given.")
    ] = None,
    older: Annotated[
        bool, typer.Option("--older", help="It may become the newest of its name, though one was made later.")
    ] = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Load a function from a bundle, if it is signed by a key that you trust.

    [dim]tacita function load ages.bundle.json --signed-by FOr1…=[/]
    """
    trusted = signed_by or [SigningKey.of(Settings.load().home).public]
    try:
        text = bundle.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("must be a file that can be read", field="bundle", value=bundle) from None
    entry = load_bundle(_registry(state), text, trusted=trusted, older=older)
    show.print_json(entry.as_dict()) if json else show.grid("Function", ("", ""), _facts(entry))


@app.command("after-restore")
def after_restore(state: State = None) -> None:
    """Run this once after restoring the state from a backup: no function with a noise path answers new points.

    The backup lacks points that were answered after it; asked again, they would get a second noise.

    [dim]tacita function after-restore[/]
    """
    halted = _registry(state).halt_paths()
    show.say(f"{halted} function(s) with a noise path answer only what the backup has answers for.")


@app.command()
def parameters(ref: Ref, state: State = None) -> None:
    """Print the parameters of a function as JSON; refused if they are private rows."""
    registry = _registry(state)
    show.print_json(registry.model(registry.get(ref)).parameters())


@app.command()
def delete(ref: Ref, state: State = None) -> None:
    """Delete the parameters of a function, and its answers. Its cost stays spent."""
    entry = _registry(state).delete(ref)
    show.say(f"{entry.name}@{entry.version} is deleted.")
