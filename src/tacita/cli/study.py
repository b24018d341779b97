"""`tacita study`: long measurements, resumed where they stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tacita.cli import show
from tacita.errors import InvalidInput

__all__ = ["app"]

app = typer.Typer(help="Long studies: stopped and started again, they go on.", no_args_is_help=True)


@app.callback()
def _studies() -> None:
    pass


@app.command()
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
    from tacita.studies.learning import LearningStudy, run_study  # scikit-learn takes a while to load
    from tacita.studies.learning_page import write_page

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
