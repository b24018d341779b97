"""Headlines of the example grammar: six measures of every kind of generator, and canaries with and without DP-SGD.

4,000 headlines with ten canaries for training, 1,000 held out, 100 generated for each of four topics at temperature
0.4, one seed. A canary is `reader NAME code` and four digits: |R| = 10,000, so at most 13.29 bits; a secret that was
not planted has 1.44 bits on average. Private training protects one headline, at delta 1e-5, noise from a seed.

Published on 180,000 real headlines (perplexity, coherence, BLEU, novelty, grammatical, repetitions): baseline 108, -,
0.613, 21.6, 28 %, 11; CLSTM 119, 84 %, 0.637, 24.7, 50 %, 30; CGRU 92, 77 %, 0.655, 25.2, 51 %, 12; SCLSTM 147, 95 %,
0.633, 26.6, 75 %, 5; SCGRU 176, 88 %, 0.625, 25.7, 69 %, 8. They are of another corpus and cannot be compared figure by
figure; grammatical is LanguageTool's there, and trigrams of tags here. `heads apart` is the published form.
Coherence of the baseline is not measured: it ignores topics, hence its low BLEU against the headlines of one topic.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

from bench.rows import Row
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.text.assessment import TextAssessment, assess_headlines
from tacita.synthesize.text.canaries import Canary, draw_canaries, plant
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.recipe import HeadlineRecipe

DELTA = 1e-5
COPIES = (0, 0, 1, 1, 1, 4, 4, 16, 16, 16)
KINDS = {
    "baseline": HeadlineRecipe(kind="baseline"),
    "CLSTM": HeadlineRecipe(kind="clstm"),
    "CGRU": HeadlineRecipe(kind="cgru"),
    "SCLSTM": HeadlineRecipe(kind="sclstm"),
    "SCGRU": HeadlineRecipe(kind="scgru"),
    "SCLSTM, heads apart": HeadlineRecipe(kind="sclstm", heads="apart"),
}


def run(*, quick: bool) -> list[Row]:
    count = 1500 if quick else 4000
    vocabulary = example_vocabulary()
    headlines = Headlines.encode(example_headlines(count, seed=1), vocabulary)
    held = Headlines.encode(example_headlines(1000, seed=2), vocabulary)
    canaries = draw_canaries(COPIES, np.random.default_rng(3), topic="business")
    data = (headlines, held, canaries)
    rows, found = [], {}
    for name, recipe in KINDS.items():
        found[name], seconds = _measure(recipe, None, *data, exposed=name == "SCLSTM")
        rows += _figures(name, found[name], seconds, None if name == "baseline" else found["baseline"])
    plain = found["SCLSTM"]
    rows += [
        Row(bar="held-out headlines, grammatical", ours=plain.grammatical_held, unit="share", goal=">= 0.95"),
        Row(bar="shuffled headlines, grammatical", ours=plain.grammatical_shuffled, unit="share", goal="<= 0.05"),
        Row(bar="classifier of topics, accuracy", ours=plain.classifier_accuracy, unit="share", goal=">= 0.89"),
    ]
    rows += _exposures("SCLSTM without protection", plain, None)
    for epsilon in (8.0,) if quick else (2.0, 8.0):
        recipe = replace(KINDS["SCLSTM"], people=count)
        private, seconds = _measure(recipe, epsilon, *data, exposed=True)
        name = f"SCLSTM, epsilon {epsilon:g}"
        rows += [*_figures(name, private, seconds, None), *_exposures(name, private, plain)]
    return rows


def _measure(
    recipe: HeadlineRecipe,
    epsilon: float | None,
    headlines: Headlines,
    held: Headlines,
    canaries: tuple[Canary, ...],
    *,
    exposed: bool,
) -> tuple[TextAssessment, float]:
    began = time.process_time()
    budget = None if epsilon is None else Budget.approx(epsilon, DELTA)
    plan = recipe.calibrate(headlines.vocabulary, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.train(plant(headlines, canaries), SeededSource(5))
    seconds = time.process_time() - began
    rng = np.random.default_rng(6)
    return assess_headlines(made, headlines, held, rng, canaries=canaries if exposed else ()), seconds


def _figures(name: str, found: TextAssessment, seconds: float, baseline: TextAssessment | None) -> list[Row]:
    copied = f"{name}: copied {found.copied:.3f} of the headlines, {found.copied_held:.3f} from as many held-out ones"
    rows = [
        Row(
            bar=f"{name}, perplexity",
            ours=found.perplexity,
            peer=None if baseline is None else baseline.perplexity,
            peer_name="" if baseline is None else "baseline",
            unit="words",
            goal="shown" if baseline is None else "< 1",
        ),
        Row(bar=f"{name}, BLEU", ours=found.bleu, unit="score"),
        Row(bar=f"{name}, novelty", ours=found.novelty, unit="sequences", note=copied),
        Row(bar=f"{name}, grammatical", ours=found.grammatical, unit="share"),
        Row(bar=f"{name}, repetitions", ours=found.repetitions, unit="headlines of 400"),
        Row(bar=f"{name}, training", ours=seconds, unit="CPU s"),
    ]
    if found.coherence is not None:
        rows.insert(1, Row(bar=f"{name}, coherence", ours=found.coherence, unit="share"))
    return rows


def _exposures(name: str, found: TextAssessment, plain: TextAssessment | None) -> list[Row]:
    """Mean exposure by copies; without protection many copies are found, with it they are exposed less."""
    ours, theirs = _means(found), {} if plain is None else _means(plain)
    rows = []
    for copies, bits in ours.items():
        goal = "shown" if copies < 16 else (">= 12" if plain is None else "<= 0.75")
        peer = theirs.get(copies) if copies >= 16 else None
        rows.append(
            Row(
                bar=f"{name}, exposure, {copies} copies",
                ours=bits,
                peer=peer,
                peer_name="without protection" if peer else "",
                unit="bits",
                goal=goal,
            )
        )
    return rows


def _means(found: TextAssessment) -> dict[int, float]:
    bits: dict[int, list[float]] = defaultdict(list)
    for each in found.exposures:
        bits[each.copies].append(each.bits)
    return {copies: float(np.mean(values)) for copies, values in bits.items()}
