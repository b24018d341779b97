"""Prosecutor, journalist and marketer risk [El Emam, Dankar 2008; Dankar, El Emam 2010].

With f_k records and F_k people of the population that have the key of a record, an attacker who searches for a person
picks one of those that fit:

    prosecutor   knows that the person is in the data      1 / f_k for each record
    journalist   does not know it                          1 / F_k for each record
    marketer     wants as many right matches as possible   mean of 1 / f_k, or of 1 / F_k with a population

Privacy: guarantee: none; reads exact rows, for the owner.
"""

from __future__ import annotations

import numpy as np

from tacita.assess.risk.measure import Figure, Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.sample import Sample

__all__ = ["JOURNALIST", "PROSECUTOR"]


def _prosecutor(sample: Sample, options: RiskOptions) -> Measured:
    risk = 1 / sample.f[sample.group]
    unique = int((sample.f == 1).sum())
    at_risk = float((risk > options.threshold).mean())
    return Measured(
        figures=(
            Figure("keys", "different keys", float(len(sample.f))),
            Figure("sample-uniques", "records that are unique in the sample", float(unique)),
            Figure("share-unique", "share of sample uniques", unique / len(sample), share=True),
            Figure("highest", "highest prosecutor risk", float(risk.max()), share=True),
            Figure("at-risk", f"share of records above {options.threshold:g}", at_risk, share=True),
            Figure("marketer", "marketer risk: mean of 1/f", float(risk.mean()), share=True),
        ),
        records={"f": sample.f[sample.group].astype(np.float64), "prosecutor": risk},
    )


def _journalist(sample: Sample, options: RiskOptions) -> Measured:
    assert sample.population is not None
    people = sample.population[sample.group]
    risk = 1 / people
    both = int(((sample.f == 1) & (sample.population == 1)).sum())
    at_risk = float((risk > options.threshold).mean())
    return Measured(
        figures=(
            Figure("population-uniques", "sample uniques that are unique in the population", float(both)),
            Figure("highest", "highest journalist risk", float(risk.max()), share=True),
            Figure("at-risk", f"share of records above {options.threshold:g}", at_risk, share=True),
            Figure("marketer", "marketer risk: mean of 1/F", float(risk.mean()), share=True),
            Figure("matches", "expected right matches of sample uniques", float(risk[sample.unique].sum())),
        ),
        records={"journalist": risk},
    )


def _needs_population(sample: Sample) -> str | None:
    return None if sample.population is not None else "It needs a table of the population."


PROSECUTOR = RiskMeasure(
    name="prosecutor",
    title="Prosecutor risk",
    question="How well is someone found who is known to be in the data?",
    needs="nothing",
    run=_prosecutor,
)
JOURNALIST = RiskMeasure(
    name="journalist",
    title="Journalist risk",
    question="How well is someone of the population found who may not be in the data?",
    needs="a table of the population",
    run=_journalist,
    applies=_needs_population,
)
