"""`tacita text`: synthetic headlines from recurrent networks, with or without a guarantee."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, check_files, paid_already
from tacita.cli.parts.options import Again, Delta, Epsilon, Json, State, budget_of, ledger_of
from tacita.common.whole import write_text
from tacita.engines.marks import data_marks
from tacita.errors import InvalidInput
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.signing import SigningKey
from tacita.report.statement import state as state_of
from tacita.settings import Settings
from tacita.synthesize.text.corpus import HeadlineSource, RawHeadline
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.headline_files import HeadlineFile, open_headlines, open_news, write_headlines
from tacita.synthesize.text.layers import KINDS, Heads
from tacita.synthesize.text.recipe import HeadlineRecipe
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.vocabulary import Vocabulary, tokenize

__all__ = ["app", "open_corpus", "read_model"]

app = typer.Typer(no_args_is_help=True)

CSV = (".csv",)
_SHOWN = 10
KindName = Literal["baseline", "clstm", "cgru", "sclstm", "scgru"]

Corpus = Annotated[Path, typer.Argument(help="Headlines: a file with a text and a topic in each row.")]
Model = Annotated[Path, typer.Argument(help="A generator that `tacita text train` wrote.")]
TextColumn = Annotated[str, typer.Option(help="Column of the headlines.")]
TopicColumn = Annotated[str, typer.Option(help="Column of the topics.")]
News = Annotated[bool, typer.Option("--news", help="The file is newsCorpora.csv of the UCI News Aggregator.")]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file, such as cp1252.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same result.")]
Temperature = Annotated[float, typer.Option(help="Below 1, likely words get likelier.")]


@app.command()
def example(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the headlines: .csv.")],
    vocabulary: Annotated[Path | None, typer.Option(help="Write the public vocabulary of the grammar: .json.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of headlines.")] = 4000,
    seed: Annotated[int, typer.Option(help="Another seed gives other headlines.")] = 0,
) -> None:
    """Draw example headlines of four topics from a grammar, with the tag of every word; reads no data.

    [dim]tacita text example -o headlines.csv --vocabulary words.json && tacita text example -o held.csv --seed 1[/]
    """
    check_files(CSV, output=output)
    check_files(JSON, vocabulary=vocabulary)
    write_headlines(output, example_headlines(count, seed=seed))
    if vocabulary is not None:
        example_vocabulary().write(vocabulary)
    show.say(f"{count:,} headlines are in {output}.")


@app.command()
def train(
    data: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the generator, as JSON.")],
    vocabulary: Annotated[
        Path | None,
        typer.Option("--vocabulary", "-v", help="Words and topics as JSON; read off the headlines if not given."),
    ] = None,
    kind: Annotated[
        KindName, typer.Option(help="baseline: words. clstm, cgru: words and topic. sclstm, scgru: also tags.")
    ] = "sclstm",
    heads: Annotated[
        Heads, typer.Option(help="joined: the next tag is drawn given the next word. apart: as published.")
    ] = "joined",
    account: Annotated[str | None, typer.Option("--account", "-a", help="The account that pays.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    no_guarantee: Annotated[
        bool, typer.Option("--no-guarantee", help="Train without protection: the generator may repeat headlines.")
    ] = False,
    words: Annotated[int, typer.Option(help="Width of the embedding of words.")] = 32,
    hidden: Annotated[int, typer.Option(help="Width of the state.")] = 64,
    epochs: Annotated[int, typer.Option(help="Without protection: passes over the headlines at most.")] = 12,
    steps: Annotated[int, typer.Option(help="With a budget: number of private steps.")] = 200,
    sample: Annotated[int, typer.Option(help="With a budget: headlines of a step on average.")] = 256,
    people: Annotated[int, typer.Option(help="With a budget: about how many headlines there are, publicly.")] = 4000,
    clip: Annotated[float, typer.Option(help="With a budget: norm that gradients are clipped to.")] = 1.0,
    text_column: TextColumn = "text",
    topic_column: TopicColumn = "topic",
    encoding: Encoding = "utf-8",
    news: News = False,
    statement: Annotated[
        Path | None, typer.Option(help="Write a signed statement of the guarantee; `tacita verify` checks it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Train a generator of headlines: by DP-SGD, paid from an account, or without protection.

    One headline is protected as one record. A private training needs a public vocabulary.

    [dim]tacita text train headlines.csv -v words.json -o model.json -a news --epsilon 8 --delta 1e-5[/]
    """
    check_files(JSON, output=output, statement=statement)
    paid = epsilon is not None or account is not None
    if paid == no_guarantee:
        raise InvalidInput(
            "choose private training or none",
            field="epsilon",
            hint="Pass --account, --epsilon and --delta; or --no-guarantee if the generator stays with the owner",
        )
    recipe = HeadlineRecipe(
        kind=kind,
        heads=heads,
        words=words,
        hidden=hidden,
        epochs=epochs,
        steps=steps,
        sample=sample,
        people=people,
        clip=clip,
    )
    known = None if vocabulary is None else Vocabulary.read(vocabulary)
    corpus = open_corpus(data, text_column, topic_column, encoding, news)
    tagger = corpus.tagger() if KINDS[kind].tags else None
    if not paid:
        raw = corpus.read()
        listed = known or _vocabulary_of(raw)
        plan = recipe.calibrate(listed, None, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        made = plan.run(HeadlineSource.reading(lambda: raw, listed, tagger=tagger), SecureSource())
        write_text(output, made.to_json())
        _show_model(made, output, json, {})
        return
    if account is None or known is None:
        field = "account" if account is None else "vocabulary"
        hint = "List words and topics that do not depend on the headlines" if account is not None else None
        raise InvalidInput("private training needs one", field=field, hint=hint)
    ledger = ledger_of(state)
    paying, budget = ledger.account(account), budget_of(epsilon, delta, None)
    plan = recipe.calibrate(known, budget, unit=paying.unit, neighbours=paying.neighbours)
    if dry_run:
        facts = [("kind", kind), ("steps", f"{steps:,} with a rate of {recipe.rate:.4g}")]
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), facts, as_json=json)  # type: ignore[arg-type]
        return
    session = Session(
        engine=HeadlineSource.reading(corpus.read, known, tagger=tagger),  # type: ignore[arg-type]
        ledger=ledger,
        account=paying.name,
        principal="command line",
        source=SecureSource(),
        data=data_marks(str(data), known.domain),
        again=again,
    )
    key = key or f"text-{uuid.uuid4().hex[:16]}"
    made = session.ask(plan, purpose="headlines", key=key)  # type: ignore[arg-type]
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        write_text(output, made.to_json())
        if statement is not None:
            state_of(
                event=made.event,
                unit=made.unit,
                neighbours=made.neighbours,
                provenance=made.provenance,
                delta=delta,
                guarantee="central differential privacy",
                public=("the vocabulary of words and topics", "about how many headlines there are"),
                files={output.name: output},
                key=SigningKey.of(Settings.load().home),
            ).write(statement)
    _show_model(made, output, json, {"key": key, "balance": session.balance().as_dict()})
    if not json:
        show.balance(session.balance())


def _show_model(made: HeadlineGenerator, output: Path, json: bool, more: dict[str, object]) -> None:
    if json:
        plain = {name: value for name, value in made.as_dict().items() if name not in ("weights", "vocabulary")}
        show.print_json(plain | {"file": str(output)} | more)
        return
    weights = sum(weight.size for weight in made.weights.values())
    facts = [("kind", made.kind), ("weights", f"{weights:,}"), ("guarantee", made.guarantee), ("file", str(output))]
    show.grid("Generator", ("", ""), facts)
    show.say(made.statement())


def open_corpus(data: Path, text: str, topic: str, encoding: str, news: bool) -> HeadlineFile:
    """Open a file of headlines; reads its header only."""
    return open_news(data) if news else open_headlines(data, text=text, topic=topic, encoding=encoding)


def _vocabulary_of(raw: Sequence[RawHeadline]) -> Vocabulary:
    topics = sorted({each.topic for each in raw if each.topic})
    return Vocabulary.from_texts((each.words for each in raw), topics)


def read_model(path: Path) -> HeadlineGenerator:
    """Read a generator."""
    try:
        return HeadlineGenerator.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput("must be a generator of `tacita text train`", field="model", value=path) from None


@app.command()
def generate(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the headlines: .csv.")],
    count: Annotated[int, typer.Option("--count", "-n", help="Headlines of each topic.")] = 100,
    topic: Annotated[str | None, typer.Option(help="One topic; all by default.")] = None,
    temperature: Temperature = 0.4,
    start: Annotated[str, typer.Option(help="First words of every headline. They must be public.")] = "",
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Draw headlines from a generator; costs nothing. `tacita text train` and `assess` read the file.

    [dim]tacita text generate model.json -n 100 -o synthetic.csv[/]
    """
    check_files(CSV, output=output)
    made, rng = read_model(model), np.random.default_rng(seed)
    found: list[RawHeadline] = []
    for name in made.vocabulary.topics if topic is None else (topic,):
        found += made.generate(count, name, rng, temperature=temperature, seed=tokenize(start))
    write_headlines(output, found)
    if json:
        plain = {"headlines": len(found), "file": str(output), "guarantee": made.guarantee}
        show.print_json(plain | {"statement": made.statement()})
        return
    rows = [(each.topic, " ".join(each.words)) for each in found[:: max(1, len(found) // _SHOWN)]]
    show.grid(f"{len(found):,} headlines are in {output}, such as", ("topic", "headline"), rows)
    show.say(made.statement())
