"""`tacita network effects`, `regress`, `granger`: figures of networks and exact rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacita.cli.learning.network import ColumnNames, RowsOrSeries, Schema, app, columns_of, networks_of
from tacita.cli.parts import show
from tacita.cli.parts.options import Json, TableName
from tacita.errors import InvalidInput
from tacita.learn.structure.files import read_network
from tacita.learn.structure.series import Series, read_series
from tacita.models.continuous import Moments, effects_on
from tacita.models.continuous.agreement import FIGURES, Agreement, adjacency, rank
from tacita.models.continuous.granger import granger as test_series
from tacita.models.continuous.regression import cross_validate, fold_moments, ljung_box, vif
from tacita.query.models.released_network import ReleasedNetwork

__all__: list[str] = []

NetworkPath = Annotated[Path, typer.Argument(help="File of a network.")]
_EXACT = "No guarantee: figures of exact rows. Do not release them."


def _moments(data: str, schema: Path | None, table: str | None, names: Sequence[str]) -> tuple[Moments, dict[str, Any]]:
    read = columns_of(data, schema, ",".join(names), table)
    if read.codes:
        hint = "Regressions need numbers"
        raise InvalidInput("must be columns of numbers", field="columns", value=list(read.codes), hint=hint)
    moments = Moments.of(read.numbers)
    moments.check_regular()
    return moments, dict(read.numbers)


@app.command()
def effects(
    network: NetworkPath,
    target: Annotated[str, typer.Option(help="Column whose mean is affected.")],
    data: Annotated[
        str | None, typer.Argument(help="Exact rows or series; not needed for a network of `release network`.")
    ] = None,
    schema: Schema = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    table: TableName = None,
    json: Json = False,
) -> None:
    """Estimate the effect of setting each column on a target, with intervals.

    An effect is the coefficient of a column in the regression of the target on it and its parents. Intervals hold if
    the parents are right.

    [dim]tacita network effects net.json people.csv -s people.yaml --target income[/]
    """
    read = read_network(network)
    released = isinstance(read.content, ReleasedNetwork)
    if data is None:
        if not released:
            hint = "Only a network of `tacita release network` holds moments"
            raise InvalidInput("needs exact rows", field="data", hint=hint)
        found, statement = read.content.effects(target, level=level), read.statement
    else:
        moments, _ = _moments(data, schema, table, tuple(read.parents))
        found, statement = effects_on(moments, read.parents, target, level=level), _EXACT
    if json:
        show.print_json({"statement": statement, "effects": [each.as_dict() for each in found]})
        return
    rows = [
        (
            each.cause,
            f"{each.value:.4g}",
            f"{each.low:.4g} … {each.high:.4g}",
            ", ".join(each.adjusted) or "nothing",
            "yes" if each.leads else "no",
        )
        for each in found
    ]
    heads = ("column", ">effect", f">{100 * level:g} % interval", "adjusted for", "path in the network")
    show.grid(f"Effect on {target} of one unit more", heads, rows)
    show.say(statement)


@app.command()
def regress(
    network: NetworkPath,
    data: RowsOrSeries,
    schema: Schema = None,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    lags: Annotated[int, typer.Option(help="Lags of the Ljung-Box test of series.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    table: TableName = None,
    json: Json = False,
) -> None:
    """Regress each column on its parents: held-out error, variance inflation, and Ljung-Box tests of series.

    [dim]tacita network regress net.json series.zip[/]
    """
    read = read_network(network)
    moments, columns = _moments(data, schema, table, tuple(read.parents))
    parts = fold_moments(columns, folds, np.random.default_rng(seed))
    errors = [cross_validate(parts, name, above) for name, above in read.parents.items()]
    inflation = vif(moments, tuple(read.parents))
    kept = None
    if schema is None:
        kept = _kept(read_series(Path(data), tuple(read.parents)), lags)
    if json:
        figures = [each.as_dict() | {"vif": inflation[each.child]} for each in errors]
        if kept is not None:
            figures = [each | {"independent": kept[each["child"]]} for each in figures]
        show.print_json({"statement": _EXACT, "columns": figures})
        return
    rows = []
    for each in errors:
        row = [each.child, ", ".join(each.parents) or "none", f"{each.rmse:.4g}", f"{each.std:.2g}"]
        row += [f"{each.deviation:.4g}", f"{inflation[each.child]:.2f}"]
        rows.append([*row, *([f"{100 * kept[each.child]:.0f} %"] if kept is not None else [])])
    heads = ["column", "parents", ">held-out error", ">deviation over folds", ">without parents", ">VIF"]
    show.grid("Regressions on parents", [*heads, *([">independent series"] if kept is not None else [])], rows)
    if kept is not None:
        show.say(
            f"Independent series: share of series in which the Ljung-Box test with {lags} lags does not reject at 5 %."
        )
    show.say(_EXACT)


def _kept(series: Sequence[Series], lags: int) -> dict[str, float]:
    """Share of series in which a column's autocorrelations may be 0, at 5 %."""
    long = [each for each in series if len(each.values) > lags]
    if not long:
        raise InvalidInput("must be longer than the lags", field="lags", value=lags)
    found = np.array([[ljung_box(column, lags)[1] >= 0.05 for column in each.values.T] for each in long])
    return dict(zip(long[0].columns, found.mean(axis=0).tolist(), strict=True))


@app.command()
def granger(
    series: Annotated[Path, typer.Argument(help="Series: a folder or a zip archive of CSV files.")],
    network: Annotated[
        list[Path] | None, typer.Option("--network", "-n", help="A network to compare with. May be repeated.")
    ] = None,
    columns: ColumnNames = None,
    level: Annotated[float, typer.Option(help="Level of the F tests.")] = 0.1,
    most_lags: Annotated[int, typer.Option(help="Largest order of the autoregressions; AIC chooses.")] = 5,
    bivariate: Annotated[
        bool, typer.Option("--bivariate", help="Test each pair alone, instead of given all other columns.")
    ] = False,
    difference: Annotated[
        bool, typer.Option("--difference/--no-difference", help="Difference columns until an ADF test at 5 % passes.")
    ] = True,
    samples: Annotated[int, typer.Option(help="Bootstrap samples of the intervals.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: Json = False,
) -> None:
    """Test Granger causality in each series, and rank networks by their agreement with it.

    [dim]tacita network granger series.zip -n exact.json -n hill.json[/]
    """
    networks = networks_of(network or [])
    names = None if columns is None else [part.strip() for part in columns.split(",") if part.strip()]
    if names is None and networks:
        names = list(next(iter(networks.values())).parents)
    read = read_series(series, names)
    chosen = read[0].columns
    links = []
    advance = show.progress("testing series", len(read))
    for done, each in enumerate(read, start=1):
        found = test_series(
            chosen,
            each.values,
            most_lags=most_lags,
            conditional=not bivariate,
            stationary=0.05 if difference else None,
        )
        links.append(found.links(level))
        advance(done)
    shares = np.mean(links, axis=0)
    ranked = []
    if networks:
        matrices = {label: adjacency(chosen, each.parents) for label, each in networks.items()}
        ranked = rank(matrices, links, np.random.default_rng(seed), samples=samples)
    if json:
        show.print_json(
            {
                "statement": _EXACT,
                "series": len(read),
                "columns": list(chosen),
                "shares": shares.tolist(),
                "networks": [each.as_dict() for each in ranked],
            }
        )
        return
    rows = [
        [name, *("" if i == j else f"{shares[i, j]:.2f}" for j in range(len(chosen)))] for i, name in enumerate(chosen)
    ]
    show.grid(
        f"Share of {len(read)} series in which the row's column Granger-causes the other, level {level:g}",
        ["", *(f">{name}" for name in chosen)],
        rows,
    )
    if ranked:
        _show_ranking(ranked)
    show.say(_EXACT)


def _show_ranking(ranked: Sequence[Agreement]) -> None:
    heads = ["network", *(f">{figure.replace('_', ' ')}" for figure in FIGURES), ">95 % of average recall"]
    rows = []
    for each in ranked:
        figures = [f"{each.mean[figure]:.3f} ± {each.std[figure]:.3f}" for figure in FIGURES]
        ends = f"{each.low['average_recall']:.3f} … {each.high['average_recall']:.3f}"
        rows.append([each.network, *figures, ends, f"{each.chance[0]:.3f} / {each.chance[1]:.3f}", f"{each.first:.2f}"])
    show.grid(
        "Agreement with Granger links, mean ± deviation over series",
        [*heads, ">sensitivity / specificity by chance", ">probability of being first"],
        rows,
    )
