"""`tacita learn`: models under a budget, what they predict, and what privacy costs them."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import typer

from tacita.cli import show
from tacita.cli.options import (
    Data,
    Delta,
    Epsilon,
    Json,
    Notion,
    Rho,
    SchemaFile,
    State,
    TableName,
    budget_of,
    ledger_of,
)
from tacita.cli.paid import check_files
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.errors import InvalidInput, TacitaError
from tacita.learn.bayes import Bayes, FittedBayes
from tacita.learn.compare import compare as compare_methods
from tacita.learn.fitted import FittedModel
from tacita.learn.fitted_trees import FittedTrees
from tacita.learn.regression import MethodName, Regression
from tacita.learn.solve import Convexify
from tacita.learn.trees import Trees
from tacita.noise import SecureSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours
from tacita.query import Session

__all__ = ["app"]

app = typer.Typer(help="Models under a budget.", no_args_is_help=True)

Kind = Literal["linear", "logistic", "trees", "bayes"]
_MOST_SHOWN = 20


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


@app.command("fit")
def fit(
    data: Data,
    schema: SchemaFile,
    target: Annotated[str, typer.Option(help="What to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes, as JSON.")],
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    kind: Annotated[Kind, typer.Option(help="What kind of model.")] = "linear",
    features: Annotated[str | None, typer.Option(help="What to predict from: age,sex. All others by default.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    method: Annotated[MethodName, typer.Option(help="How a line is fitted; `auto` picks and says why.")] = "auto",
    penalty: Annotated[float, typer.Option(help="Size of the penalty of a line.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="1 is ridge, 0 is LASSO.")] = 1.0,
    convexify: Annotated[Convexify, typer.Option(help="How a noisy objective gets a minimum.")] = "floor",
    depth: Annotated[int, typer.Option(help="Of trees.")] = 5,
    trees: Annotated[int, typer.Option(help="How many trees.")] = 1,
    people: Annotated[int | None, typer.Option(help="About how many rows there are, where that is public.")] = None,
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show method and cost; touches no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Fit a model, paid from an account.

    [dim]tacita learn fit census.csv -s census.yaml -a census --target income --epsilon 1 -o model.json[/]
    """
    check_files(output=output)
    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    paying = ledger.account(account)
    chosen = tuple(n for n in domain.countable if n != target) if features is None else _names(features, "features")
    recipe: Any
    if kind == "trees":
        recipe = Trees(target=target, features=chosen, depth=depth, trees=trees)
    elif kind == "bayes":
        recipe = Bayes(target=target, features=chosen)
    else:
        recipe = Regression(
            target=target,
            features=chosen,
            task=kind,
            method=method,
            penalty=penalty,
            alpha=alpha,
            convexify=convexify,
            people=people,
        )
    plan = recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)
    why = getattr(plan, "why", "as asked")
    if dry_run:
        planned = plan.as_dict()
        facts = [("model", kind), ("cost", f"{planned['cost']:.6g}"), ("why", why)]
        show.print_json(planned) if json else show.grid("Plan", ("", ""), facts)
        return
    session = Session(
        engine=connect(data, domain, table),
        ledger=ledger,
        account=paying.name,
        principal="command line",
        source=SecureSource(),
    )
    model = session.ask(plan, purpose="learn", key=key)
    output.write_text(model.to_json(), encoding="utf-8")
    if json:
        show.print_json({"output": str(output), "statement": model.statement(), "why": why})
        return
    show.grid("Model", ("", ""), [("kind", kind), ("why", why), ("promise", model.statement())])
    if isinstance(model, FittedModel):
        largest = sorted(model.named.items(), key=lambda pair: -abs(pair[1]))[:_MOST_SHOWN]
        show.grid("Coefficients", ("column", "per unit"), [(name, _said(value)) for name, value in largest])
        show.grid("What it took", ("", ""), [(name, _said(value)) for name, value in model.notes.items()])
    show.balance(session.balance())


def _said(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


Fitted = FittedModel | FittedTrees | FittedBayes
_READERS: dict[str, Callable[[str], Fitted]] = {
    "fitted/1": FittedModel.from_json,
    "trees/1": FittedTrees.from_json,
    "bayes/1": FittedBayes.from_json,
}


def _model(path: Path) -> Fitted:
    try:
        text = path.read_text(encoding="utf-8")
        kind = json_module.loads(text).get("tacita")
    except (OSError, ValueError, AttributeError):
        raise InvalidInput("must be a model that `learn fit` wrote", field="model", value=path) from None
    if kind not in _READERS:
        raise InvalidInput("must be one of " + ", ".join(_READERS), field="model", value=kind)
    try:
        return _READERS[kind](text)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, TacitaError):
            raise
        raise InvalidInput("is broken: parts of the model are missing", field="model", value=path) from None


def _public(model: Fitted) -> tuple[Domain, tuple[str, ...], str]:
    """What a model knows of the data: its schema, its features and its target."""
    if isinstance(model, FittedModel):
        return model.design.domain, model.design.features, model.design.target
    if isinstance(model, FittedTrees):
        return model.domain, model.features, model.target
    return model.model.domain, model.recipe.features, model.recipe.target


@app.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `learn fit` wrote.")],
    data: Annotated[str, typer.Argument(help="Rows with the features: a CSV or Parquet file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where predictions go: .csv, one line for each row.")],
    json: Json = False,
) -> None:
    """Predict with a model; costs nothing.

    [dim]tacita learn predict model.json new.csv -o predicted.csv[/]
    """
    from pyarrow import csv

    check_files(output=output)
    fitted = _model(model)
    domain, features, target = _public(fitted)
    batches = list(connect(data, domain.project(features), None).rows(features))
    told = [fitted.predict(batch) for batch in batches]
    found = pa.table({target: pa.concat_arrays(told) if told else pa.array([], pa.string())})
    csv.write_csv(found, output)
    if json:
        show.print_json({"output": str(output), "rows": found.num_rows, "statement": fitted.statement()})
        return
    show.say(f"{found.num_rows:,} predictions in {output.name}. {fitted.statement()}")


@app.command("compare")
def compare(
    epsilon: Annotated[str, typer.Option(help="Epsilons: 0.1,1,4.")] = "0.1,1,4",
    delta: Annotated[float, typer.Option(help="A delta for all of them; 0 for pure.")] = 0.0,
    rows: Annotated[str, typer.Option(help="Numbers of rows: 3000,30000.")] = "3000,30000",
    features: Annotated[str, typer.Option(help="Numbers of features: 4,11.")] = "4,11",
    methods: Annotated[str, typer.Option(help="Which methods.")] = "auto,functional,sufficient,objective,output",
    task: Annotated[Literal["linear", "logistic"], typer.Option(help="What to predict.")] = "linear",
    neighbours: Notion = Neighbours.ADD_REMOVE,
    draws: Annotated[int, typer.Option(help="Draws of the noise for each figure.")] = 10,
    json: Json = False,
) -> None:
    """What privacy costs: errors of methods on made-up rows. Touches no data and no budget.

    [dim]tacita learn compare --epsilon 0.1,1 --rows 3000,300000 --features 4,20[/]
    """
    budgets = [Budget(epsilon=each, delta=delta) for each in _numbers(epsilon, "epsilon")]
    found = list(
        compare_methods(
            rows=_wholes(rows, "rows"),
            features=_wholes(features, "features"),
            budgets=budgets,
            methods=_names(methods, "methods"),  # type: ignore[arg-type]
            task=task,
            neighbours=neighbours,
            draws=draws,
        )
    )
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
