"""`tacita learn`: models under a budget, their predictions, and the cost of privacy."""

from __future__ import annotations

import math
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, ROWS, check_files, paid_already
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
    engine_of,
    ledger_of,
    session_of,
)
from tacita.cli.parts.requests import named_options
from tacita.common.extras import needs_extra
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.compare import Compared
from tacita.learn.compare import compare as compare_methods
from tacita.learn.feature_map import Outside
from tacita.learn.fitted import FittedModel
from tacita.learn.kinds import ModelChoice, ModelKind
from tacita.learn.models import Fitted, choose_kind, read_model, recipe_of
from tacita.learn.neural.fitted_network import FittedNetwork
from tacita.learn.neural.network import NetworkTask
from tacita.learn.regression.regression import Inference, MethodName, Numbers
from tacita.learn.regression.solve import Convexify
from tacita.learn.released import fit_released, read_released
from tacita.learn.summary import summarise
from tacita.learn.tradeoff import Against, TradeOff, trade_off
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours
from tacita.report.signing import SigningKey
from tacita.settings import Settings
from tacita.synthesize.writing import write_file

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

_MOST_SHOWN = 20
_HERE = ("127.0.0.1", "::1", "localhost")


def _names(text: str, field: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise InvalidInput("must be names with commas between", field=field, value=text)
    return names


def _numbers(text: str, field: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput("must be numbers with commas between", field=field, value=text) from None


def _wholes(text: str, field: str) -> list[int]:
    found = _numbers(text, field)
    if not all(math.isfinite(each) and each >= 1 and each == int(each) for each in found):
        raise InvalidInput("must be whole numbers of at least 1", field=field, value=text)
    return [int(each) for each in found]


def _pairs(text: str | None, field: str) -> tuple[tuple[float, float], ...] | None:
    """Parse penalties: `10,100:0.5` is ridge of size 10, and elastic net of size 100."""
    if text is None:
        return None
    try:
        pairs = [part.split(":") if ":" in part else (part, "1") for part in text.split(",")]
        return tuple((float(size), float(alpha)) for size, alpha in pairs)
    except ValueError:  # also where there are more than two
        raise InvalidInput("must be sizes, or size:alpha, with commas between", field=field, value=text) from None


@app.command("fit")
def fit(
    data: Data,
    schema: SchemaFile,
    target: Annotated[str, typer.Option(help="Attribute to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the model, as JSON.")],
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    kind: Annotated[
        ModelChoice,
        typer.Option("--kind", "--model", help="Kind of model; `auto` goes by the target, and states why."),
    ] = "auto",
    features: Annotated[
        str | None, typer.Option(help="Attributes to predict from: age,sex. All others by default.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    method: Annotated[
        MethodName | None, typer.Option(help="Method of fitting a line; `auto`, the default, picks one and states why.")
    ] = None,
    penalty: Annotated[float | None, typer.Option(help="Size of the penalty of a line; 0 by default.")] = None,
    alpha: Annotated[float | None, typer.Option(help="1, the default, is ridge, 0 is LASSO.")] = None,
    penalties: Annotated[
        str | None, typer.Option(help="Penalties to choose from privately: 10,100:0.5 (size, or size:alpha).")
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="Share of the rows that choose a penalty; 0.2 by default.")
    ] = None,
    narrow: Annotated[
        float | None, typer.Option(help="Share of the budget that first finds narrower bounds privately, such as 0.2.")
    ] = None,
    convexify: Annotated[
        Convexify | None, typer.Option(help="Method that gives a noisy objective a minimum; floor by default.")
    ] = None,
    norm: Annotated[
        float | None, typer.Option(help="Largest norm of a row of features from -1 to 1; longer rows are scaled down.")
    ] = None,
    intercept: Annotated[
        bool | None,
        typer.Option("--intercept/--no-intercept", help="Whether a line has an intercept; it has one by default."),
    ] = None,
    outside: Annotated[
        Outside | None,
        typer.Option(help="Rows beyond the bounds: clip moves them there (default), leave-out refuses them."),
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Depth of trees; 5 by default.")] = None,
    trees: Annotated[int | None, typer.Option(help="Number of trees; 1 by default.")] = None,
    task: Annotated[NetworkTask | None, typer.Option(help="Task of a network: classes (default), or linear.")] = None,
    hidden: Annotated[str | None, typer.Option(help="Widths of a network's hidden layers: 32,16; 0 for none.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes of a network over the rows; 20 by default.")] = None,
    batch: Annotated[int | None, typer.Option(help="Rows in a step of a network; 1024 by default.")] = None,
    clip: Annotated[float | None, typer.Option(help="Norm that gradients are clipped to; 1 by default.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Step size of a network.")] = None,
    people: Annotated[int | None, typer.Option(help="Approximate number of rows, if that is public.")] = None,
    inference: Annotated[
        Inference | None,
        typer.Option(help="Standard errors of a line: of the noise (sample, default), or with sampling (population)."),
    ] = None,
    numbers: Annotated[
        Numbers | None,
        typer.Option(
            help="Numbers as features: line, bins (a score for each), or auto (default): joined lines if noise allows."
        ),
    ] = None,
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show method and cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Fit a model, paid from an account. An option that the kind does not take is refused.

    [dim]tacita learn fit census.csv -s census.yaml -a census --target income --epsilon 1 -o model.json[/]
    """
    check_files(JSON, output=output)
    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    paying = ledger.account(account)
    chosen = tuple(n for n in domain.countable if n != target) if features is None else _names(features, "features")
    given = {
        "method": method,
        "penalty": penalty,
        "alpha": alpha,
        "penalties": _pairs(penalties, "penalties"),
        "share": share,
        "narrow": narrow,
        "convexify": convexify,
        "norm": norm,
        "intercept": intercept,
        "outside": outside,
        "depth": depth,
        "trees": trees,
        "task": task,
        "hidden": None if hidden is None else () if hidden.strip() == "0" else tuple(_wholes(hidden, "hidden")),
        "epochs": epochs,
        "batch": batch,
        "clip": clip,
        "learning_rate": learning_rate,
        "people": people,
        "inference": inference,
        "numbers": numbers,
    }
    options = {name: value for name, value in given.items() if value is not None}
    picked = ""
    if kind == "auto":
        kind, picked = choose_kind(domain, target, options)
    recipe = recipe_of(kind, target=target, features=chosen, options=options)
    plan = recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)
    why = _both(picked, getattr(plan, "why", "as asked"))
    if dry_run:
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), [("model", kind), ("why", why)], as_json=json)
        return
    session = session_of(
        ledger,
        account=paying.name,
        data=data,
        domain=domain,
        table=table,
        again=again,
    )
    key = key or f"learn-{uuid.uuid4().hex[:16]}"
    model = session.ask(plan, purpose="learn", key=key)
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        why = _both(picked, getattr(model, "why", None)) or why
        write_text(output, model.to_json())
    if json:
        plain = {"output": str(output), "kind": kind, "statement": model.statement(), "why": why}
        show.print_json(plain | ({"summary": summarise(model).as_dict()} if isinstance(model, FittedModel) else {}))
        return
    show.grid("Model", ("", ""), [("kind", kind), ("why", why), ("promise", model.statement())])
    if isinstance(model, FittedModel):
        _show_coefficients(model)
    if isinstance(model, FittedModel | FittedNetwork):
        show.grid("What it took", ("", ""), [(name, _said(value)) for name, value in model.notes.items()])
    show.balance(session.balance())


def _both(picked: str, why: str | None) -> str:
    """Why this kind, and why this method."""
    return "; ".join(part for part in (picked, why) if part and part != "as asked") or (why or "")


def _show_coefficients(model: FittedModel) -> None:
    """The intercept and the largest coefficients, with standard errors and intervals where these are claimed."""
    found = summarise(model)
    first, *rest = found.to_arrow().to_pylist()
    largest = sorted(rest, key=lambda row: -abs(row["coefficient"]))[:_MOST_SHOWN]
    lines = [
        (
            row["term"],
            _said(row["coefficient"]),
            *(("", "") if math.isnan(row["standard_error"]) else (_said(row["standard_error"]), _ends(row))),
        )
        for row in (first, *largest)
    ]
    show.grid("Coefficients", ("term", ">per unit", ">standard error", ">95 % interval"), lines)
    show.say(found.facts()["note"].capitalize() + ".")


def _ends(row: dict[str, Any]) -> str:
    return f"{_said(row['low'])} .. {_said(row['high'])}"


@app.command("from")
def fit_from(
    release: Annotated[
        Path,
        typer.Argument(help="Released data: a model of synthetic rows or tables (.json), or rows (.csv, .parquet)."),
    ],
    target: Annotated[str, typer.Option(help="Attribute to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the model, as JSON.")],
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="Public schema; needed for rows.")] = None,
    kind: Annotated[ModelKind, typer.Option("--kind", "--model", help="Kind of model.")] = "bayes",
    features: Annotated[
        str | None, typer.Option(help="Attributes to predict from: age,sex. All others by default.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--options", help="Option of the kind: NAME=VALUE. Several may be given.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model to released data; costs nothing. The model has the guarantee of the release.

    [dim]tacita learn from synthetic.json --target income --kind trees -o model.json[/]
    """
    check_files(JSON, output=output)
    released = read_released(release, None if schema is None else Domain.read(schema))
    chosen = None if features is None else _names(features, "features")
    model = fit_released(released, kind, target=target, features=chosen, options=named_options(options or []))
    write_text(output, model.to_json())
    if json:
        show.print_json({"output": str(output), "statement": model.statement()})
        return
    show.grid("Model", ("", ""), [("kind", kind), ("features", ", ".join(model.features))])
    show.say(model.statement())


def _said(value: Any) -> str:
    if isinstance(value, dict):  # ends of bounds that were narrowed, by name
        return ", ".join(f"{name} {' to '.join(map(_said, ends))}" for name, ends in value.items()) or "nothing"
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _model(path: Path) -> Fitted:
    try:
        return read_model(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("must be a model that `learn fit` wrote", field="model", value=path) from None


@app.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `learn fit` wrote.")],
    data: Annotated[str, typer.Argument(help="Rows with the features: a CSV or Parquet file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file for predictions: .csv or .parquet, one row for each row.")
    ],
    json: Json = False,
) -> None:
    """Predict with a model; costs nothing.

    [dim]tacita learn predict model.json new.csv -o predicted.csv[/]
    """
    check_files(ROWS, output=output)
    fitted = _model(model)
    batches = list(engine_of(data, fitted.domain.project(fitted.features)).rows(fitted.features))
    predicted = [fitted.predict(batch) for batch in batches]
    found = pa.table({fitted.target: pa.concat_arrays(predicted) if predicted else pa.array([], pa.string())})
    write_file(output, iter([found]))
    if json:
        show.print_json({"output": str(output), "rows": found.num_rows, "statement": fitted.statement()})
        return
    show.say(f"{found.num_rows:,} predictions in {output.name}. {fitted.statement()}")


@app.command("serve")
def serve(
    models: Annotated[list[Path], typer.Argument(help="Models that `learn fit` wrote, and bundles of functions.")],
    host: Annotated[str, typer.Option(help="Address to listen on: anyone who reaches it may query.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    signed_by: Annotated[
        list[str] | None,
        typer.Option("--signed-by", help="A public key whose bundles you trust. One's own if not given."),
    ] = None,
    no_guarantee: Annotated[
        bool, typer.Option("--no-guarantee", help="Also serve models without a guarantee, and state that.")
    ] = False,
) -> None:
    """Serve models by themselves: POST /v1/models/NAME/predict. Needs no dataset, no ledger and no token.

    Anyone who reaches the port may query, so keep it on this machine or behind a proxy that authenticates users.

    [dim]tacita learn serve model.json trees.json --port 8000[/]
    """
    with needs_extra("server", "serving models"):
        from tacita.server.local_models import serve_models

    trusted = signed_by or [SigningKey.of(Settings.load().home).public]

    def warn(unguarded: list[str]) -> None:
        show.say(f"Models are served at http://{host}:{port}/v1/models  (stop: Ctrl-C)")
        show.say("No token is needed: anyone who reaches this address may query, and may read all parameters.")
        if host not in _HERE:
            show.say(f"{host} can be reached from other machines: restrict access by other means.")
        for name in unguarded:
            show.say(f"{name} has NO GUARANTEE: it may reveal the rows that it was made from.")

    serve_models(models, trusted=trusted, host=host, port=port, no_guarantee=no_guarantee, warn=warn)


@app.command("compare")
def compare(
    against: Annotated[
        Against | None, typer.Option(help="Along one axis: epsilon, delta, n, dimension or queries.")
    ] = None,
    values: Annotated[str | None, typer.Option(help="Values of that axis: 0.1,1,10. Common ones by default.")] = None,
    epsilon: Annotated[str, typer.Option(help="Epsilons: 0.1,1,4.")] = "0.1,1,4",
    delta: Annotated[float, typer.Option(help="A delta for all epsilons; 0 for pure.")] = 0.0,
    rows: Annotated[str, typer.Option(help="Numbers of rows: 3000,30000.")] = "3000,30000",
    features: Annotated[str | None, typer.Option(help="Numbers of features: 4,11 by default.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods; auto,functional,sufficient,objective,output by default.")
    ] = None,
    task: Annotated[
        Literal["linear", "logistic"] | None, typer.Option(help="Kind of regression; linear by default.")
    ] = None,
    neighbours: Annotated[
        Neighbours | None, typer.Option(help="Neighbours: add-remove (default) or replace-one.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws of the noise for each figure.")] = 10,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page; goes with --against.")] = None,
    json: Json = False,
) -> None:
    """Compare the errors of methods on synthetic rows: the cost of privacy. Reads no data and spends no budget.

    Without `--against` all settings are combined; with it, each other setting has its first value.

    [dim]tacita learn compare --epsilon 0.1,1 --rows 3000,300000 --features 4,20[/]
    [dim]tacita learn compare --against queries --report queries.html[/]
    """
    check_files(PAGE, report=report)
    epsilons, counts = _numbers(epsilon, "epsilon"), _wholes(rows, "rows")
    columns = None if features is None else _wholes(features, "features")
    names = None if methods is None else _names(methods, "methods")
    if against is None:
        for option, given in (("values", values), ("report", report)):
            if given is not None:
                raise InvalidInput("goes with --against", field=option, value=given)
        budgets = [Budget(epsilon=each, delta=delta) for each in epsilons]
        found = compare_methods(
            rows=counts,
            features=columns or (4, 11),
            budgets=budgets,
            methods=names or ("auto", "functional", "sufficient", "objective", "output"),  # type: ignore[arg-type]
            task=task or "linear",
            neighbours=neighbours or Neighbours.ADD_REMOVE,
            draws=draws,
        )
        _show_compared(list(found), task or "linear", json)
        return
    curves = trade_off(
        against,
        None if values is None else _numbers(values, "values"),
        epsilon=epsilons[0],
        delta=delta,
        rows=counts[0],
        features=(columns or [4])[0] if against != "queries" or columns else None,
        methods=names,  # type: ignore[arg-type]
        task=task,
        neighbours=neighbours,
        draws=draws,
    )
    if report is not None:
        _write_page(report, curves)
    if json:
        show.print_json(curves.as_dict())
        return
    lines = [
        (line.label, f"{x:g}", f"{middle:.4g}", f"{low:.4g}..{high:.4g}", "" if lifted is None else f"{lifted:.0%}")
        for line in curves.lines
        for x, middle, low, high, lifted in zip(line.x, line.middle, line.low, line.high, line.convexified, strict=True)
    ]
    show.grid(f"Against {against}", ("", against, curves.error, "20..80 %", "lifted"), lines)
    show.say(f"Fixed: {curves.fixed}.")


def _show_compared(found: list[Compared], task: str, json: bool) -> None:
    if json:
        show.print_json([each.as_dict() for each in found])
        return
    lines = [
        (
            f"{each.rows:,}",
            str(each.features),
            f"{each.epsilon:g}",
            each.method,
            f"{each.middle:.4f}",
            f"{each.low:.4f}..{each.high:.4f}",
            "" if each.convexified is None else f"{each.convexified:.0%}",
        )
        for each in found
    ]
    error = "root mean squared error" if task == "linear" else "share wrong"
    show.grid("Compared", ("rows", "features", "epsilon", "method", error, "20..80 %", "lifted"), lines)


def _write_page(path: Path, curves: TradeOff) -> None:
    from tacita.report.report import Section, write

    lifted = [
        (f"{line.label}, {curves.against} {x:g}", f"{share:.0%}")
        for line in curves.lines
        for x, share in zip(line.x, line.convexified, strict=True)
        if share is not None
    ]
    sections = [Section(title=title, picture=picture) for title, picture in curves.pictures()]
    if lifted:
        text = "Share of draws in which noisy moments had to be made convex."
        sections.append(Section(title="Stability", text=text, facts=lifted))
    lead = f"Medians over draws of the noise, with the 20th and 80th percentile; {curves.fixed}. On synthetic rows."
    write(path, f"The cost of privacy: {curves.error} against {curves.against}", lead, sections)
