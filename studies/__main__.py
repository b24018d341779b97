"""`python -m studies list | run NAME`: the experiments of the documents, resumed where they stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from studies.buses import FEATURES, NETWORKS, agreements, read_buses
from studies.learning import LearningStudy, run_study
from studies.learning_page import write_page
from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.errors import InvalidInput, TacitaError
from tacita.learn.structure.series import pool
from tacita.models.continuous import GaussianBIC, Moments, effects_on
from tacita.models.search import Search, total_score

app = typer.Typer(help="Long studies: stopped and started again, they go on.", no_args_is_help=True)
runs = typer.Typer(help="Run one study.", no_args_is_help=True)
app.add_typer(runs, name="run")


@app.command("list")
def list_studies(json: Json = False) -> None:
    """List the studies."""
    found = {str(command.name): (command.callback.__doc__ or "").strip() for command in runs.registered_commands}
    if json:
        show.print_json(found)
        return
    show.grid("Studies", ("name", "what it measures"), list(found.items()))


@runs.callback()
def _runs() -> None:
    pass


@runs.command("learning")
def learning(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for results and figures; the same one continues.")],
    data: Annotated[Path, typer.Option(help="Folder with adult.data and credit-default.csv.")] = Path(),
    dataset: Annotated[str, typer.Option(help="Among adult,credit,diabetes; the last is made up.")] = "adult,credit",
    model: Annotated[str, typer.Option(help="Among tree,svm,knn,network.")] = "tree,knn",
    k: Annotated[str, typer.Option("--k", help="Rising numbers, separated by commas.")] = "10,40,100,300",
    grid: Annotated[Literal["small", "full"], typer.Option(help="A few configurations, or all.")] = "small",
    rows: Annotated[int | None, typer.Option(help="Most rows of a table.")] = None,
    split: Annotated[Literal["after", "before"], typer.Option(help="Split after anonymizing, or before.")] = "after",
    mode: Annotated[Literal["strict", "relaxed", "legacy"], typer.Option(help="Of Mondrian.")] = "strict",
    seed: Annotated[int, typer.Option(help="Of splits, folds and models.")] = 0,
) -> None:
    """Tune classifiers on the original, retrain them on growing k, retune them on what was anonymized."""
    try:
        ks = tuple(int(part) for part in k.split(","))
    except ValueError:
        raise InvalidInput("must be whole numbers, separated by commas", field="k", value=k) from None
    study = LearningStudy(
        datasets=tuple(part.strip() for part in dataset.split(",")),
        models=tuple(part.strip() for part in model.split(",")),
        ks=ks,
        grid=grid,
        rows=rows,
        split=split,
        mode=mode,
        seed=seed,
    )
    results = run_study(study, data=data, out=out, say=show.say)
    write_page(results, out / "figures.html")
    shown = [
        (
            r.dataset,
            r.model,
            r.phase,
            str(r.k),
            f"{r.macro_f1:.3f}",
            f"{r.micro_f1:.3f}",
            f"{r.majority:.3f}",
            f"{r.gcp:.3f}",
        )
        for r in results
    ]
    heads = ("table", "model", "phase", ">k", ">macro F1", ">micro F1", ">majority", ">GCP")
    show.grid("Learning from anonymized rows", heads, shown)
    show.say(f"Figures in {out / 'figures.html'}.")


@runs.command("buses")
def buses(
    data: Annotated[Path, typer.Option(help="Folder or zip of the public series of buses.")],
    difference: Annotated[bool, typer.Option(help="Difference columns until they are stationary.")] = False,
) -> None:
    """Networks of bus sensors: scores, effects on fuel, and agreement with Granger links, beside the published ones."""
    series = read_buses(data)
    moments = Moments.of(pool(series).numbers)
    score = GaussianBIC(moments=moments)
    networks: dict[str, dict[str, tuple[str, ...]]] = dict(NETWORKS)
    for name, search in (
        ("exact", Search()),
        ("hill", Search(kind="hill", restarts=10, tabu=10)),
        ("rsmax2", Search(kind="rsmax2", restarts=10, tabu=10)),
    ):
        networks[name] = search.run(FEATURES, score, score.test)
    sizes = {name: sum(map(len, each.values())) for name, each in networks.items()}
    scores = [(name, f"{total_score(score, each):.2f}", str(sizes[name])) for name, each in networks.items()]
    show.grid("Gaussian BIC", ("network", ">score", ">links"), scores)
    effects = effects_on(moments, NETWORKS["BF"], "fuel_per_km")
    rows = [(e.cause, f"{e.value:.3f}", f"{e.low:.3f} … {e.high:.3f}", ", ".join(e.adjusted)) for e in effects]
    show.grid("Effects on fuel_per_km in BF", ("feature", ">effect", ">95 % interval", "adjusted for"), rows)
    ranked, share = agreements(networks, series, stationary=0.05 if difference else None)
    figures = [(each.network, *(f"{v:.3f}" for v in each.mean.values()), f"{each.first:.2f}") for each in ranked]
    heads = ("network", ">sensitivity", ">specificity", ">average recall", ">accuracy", ">first")
    show.grid(f"Agreement with Granger links, of which {share:.3f} are present", heads, figures)


if __name__ == "__main__":
    try:
        app()
    except TacitaError as error:
        show.problem(error)
        sys.exit(2)
