"""`tacita text plant|assess`: canaries in headlines, and figures of generators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, check_files
from tacita.cli.parts.options import Json
from tacita.cli.rows.text import (
    CSV,
    Corpus,
    Encoding,
    Model,
    News,
    Seed,
    Temperature,
    TextColumn,
    TopicColumn,
    app,
    open_corpus,
    read_model,
)
from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.synthesize.text.assessment import TextAssessment, assess_headlines
from tacita.synthesize.text.canaries import draw_canaries, plant_raw, read_canaries, write_canaries
from tacita.synthesize.text.corpus import HeadlineSource
from tacita.synthesize.text.headline_files import open_headlines, write_headlines

__all__ = ["app"]


@app.command()
def plant(
    data: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for headlines with canaries: .csv.")],
    secrets: Annotated[Path, typer.Option(help="The file for the canaries, which holds the secrets: .json.")],
    topic: Annotated[str, typer.Option(help="Topic of the canaries.")],
    copies: Annotated[
        str, typer.Option(help="Copies of each canary: 0,1,4,16. A canary of 0 copies is a control.")
    ] = "0,1,4,16",
    digits: Annotated[int, typer.Option(help="Digits of a secret.")] = 4,
    seed: Seed = None,
    text_column: TextColumn = "text",
    topic_column: TopicColumn = "topic",
    encoding: Encoding = "utf-8",
) -> None:
    """Plant random secrets into headlines, to measure later whether a generator has memorised them.

    [dim]tacita text plant headlines.csv -o planted.csv --secrets canaries.json --topic business --copies 0,1,16[/]
    """
    check_files(CSV, output=output)
    check_files(JSON, secrets=secrets)
    raw = open_headlines(data, text=text_column, topic=topic_column, encoding=encoding).read()
    canaries = draw_canaries(_numbers(copies), np.random.default_rng(seed), topic=topic, digits=digits)
    write_canaries(secrets, canaries)
    write_headlines(output, [*raw, *plant_raw(canaries)])
    show.say(f"{sum(each.copies for each in canaries):,} canaries are in {output}, their secrets in {secrets}.")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput("must be whole numbers with commas between", field="copies", value=text) from None


@app.command()
def assess(
    model: Model,
    data: Annotated[Path, typer.Argument(help="The headlines that the generator was trained on.")],
    held: Annotated[Path, typer.Option(help="Headlines of the same kind that it was not trained on.")],
    canaries: Annotated[Path | None, typer.Option(help="Canaries of `tacita text plant`: .json.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Headlines of each topic to draw.")] = 100,
    temperature: Temperature = 0.4,
    seed: Annotated[int, typer.Option(help="Seed of drawing.")] = 0,
    text_column: TextColumn = "text",
    topic_column: TopicColumn = "topic",
    encoding: Encoding = "utf-8",
    news: News = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write all figures as JSON.")] = None,
    json: Json = False,
) -> None:
    """Measure a generator: six measures, copied headlines, exposure of canaries. For the owner: figures are exact.

    [dim]tacita text assess model.json planted.csv --held held.csv --canaries canaries.json[/]
    """
    check_files(JSON, output=output)
    made = read_model(model)
    training, others = (
        HeadlineSource.reading(corpus.read, made.vocabulary, tagger=corpus.tagger()).headlines()
        for corpus in (open_corpus(path, text_column, topic_column, encoding, news) for path in (data, held))
    )
    planted = () if canaries is None else read_canaries(canaries)
    found = assess_headlines(
        made,
        training,
        others,
        np.random.default_rng(seed),
        per_topic=count,
        temperature=temperature,
        canaries=planted,
    )
    if output is not None:
        write_text(output, found.to_json())
    if json:
        show.print_json(found.as_dict())
        return
    show.grid(f"{found.headlines:,} headlines of {found.kind}", ("measure", ">value", "beside it"), _rows(found))
    if found.exposures:
        rows = [(str(each.copies), f"{each.bits:.2f}", f"{each.most:.2f}") for each in found.exposures]
        show.grid("Canaries", (">copies", ">exposure, bits", ">most"), rows)
        show.say("A secret that the generator has not seen has 1.44 bits on average.")
    show.say("Figures come from exact headlines: for the owner. They are no guarantee.")


def _rows(found: TextAssessment) -> list[tuple[str, str, str]]:
    coherence = "none: it ignores topics" if found.coherence is None else f"{found.coherence:.1%}"
    return [
        ("perplexity of held-out headlines", f"{found.perplexity:.2f}", "less is better"),
        ("topical coherence", coherence, f"{found.classifier_accuracy:.1%} of real headlines"),
        ("BLEU", f"{found.bleu:.3f}", "against all training headlines of the topic"),
        ("novelty", f"{found.novelty:.2f}", "different longest common sequences, on average"),
        (
            "grammatical, by trigrams of tags",
            f"{found.grammatical:.1%}",
            f"{found.grammatical_held:.1%} of held-out headlines, {found.grammatical_shuffled:.1%} if shuffled",
        ),
        ("repetitions of more than two words", str(found.repetitions), f"longest {found.longest_repetition} words"),
        ("copied from training headlines", f"{found.copied:.1%}", f"{found.copied_held:.1%} of held-out headlines"),
        ("longest match, words", f"{found.longest_match:.2f}", "with a training headline, on average"),
    ]
