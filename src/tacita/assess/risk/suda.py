"""Special uniques: minimal sample uniques and SUDA scores [Elliot, Manning, Ford 2002], DIS scores [Elliot 2005].

A set of quasi-identifiers is a minimal sample unique (MSU) of a record if no other record has the same values in it and
this holds for none of its parts. With d attributes and sizes up to m, an MSU of size k adds to the record's score

    prod_(i=k)^m (d - i)        m <= d - 1, because an MSU of all attributes is no special unique

The DIS measure is the probability that a unique match is right, with n1 uniques, n2 pairs and sampling fraction pi
[Skinner, Elliot 2002]; a record's DIS score is its part of it, by SUDA scores, so that the mean over the u records with
an MSU is theta:

    theta = pi n1 / (pi n1 + 2 (1 - pi) n2)        dis_i = min(1, theta u score_i / sum of scores)

Privacy: guarantee: none; reads exact rows, for the owner.   Cost: one count of the records for each set of at most m
attributes, so linear in records up to a sort.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.assess.risk.measure import Figure, Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.sample import Sample, combine
from tacita.errors import InvalidInput

__all__ = ["SUDA", "minimal_uniques", "suda_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_SETS = 20_000
"""Most sets of attributes that are counted."""
_DENSE = 8  # keys for each record up to which a table of counts is used


def minimal_uniques(sample: Sample, size: int) -> dict[tuple[int, ...], Ints]:
    """Records for which each set of attributes is a minimal sample unique; sets without any are left out.

    Args:
        sample: Records.
        size: Most attributes of a set.
    """
    many, d = len(sample), len(sample.names)
    sets = sum(math.comb(d, k) for k in range(1, size + 1))
    if sets > MOST_SETS:
        hint = "Use fewer quasi-identifiers, or a smaller size"
        raise InvalidInput(
            f"must lead to at most {MOST_SETS:,} sets of attributes", field="size", value=sets, hint=hint
        )
    found: dict[tuple[int, ...], Ints] = {}
    before: dict[tuple[int, ...], Ints] = {}
    for k in range(1, size + 1):
        now = {}
        for chosen in combinations(range(d), k):
            key, span = combine(sample.codes[list(chosen)], [sample.sizes[at] for at in chosen], many)
            unique = _unique(key, span)
            now[chosen] = unique
            covered = np.zeros(many, bool)
            for part in combinations(chosen, k - 1):
                if part in before:
                    covered[before[part]] = True
            special = unique[~covered[unique]]
            if len(special):
                found[chosen] = special
        before = now
    return found


def _unique(key: Ints, span: int) -> Ints:
    """Indices of keys that occur once."""
    if span <= _DENSE * len(key) + 1024:
        return np.flatnonzero(np.bincount(key, minlength=span)[key] == 1)
    order = np.argsort(key, kind="stable")
    line = key[order]
    changes = np.concatenate([[True], line[1:] != line[:-1], [True]])
    return np.sort(order[changes[:-1] & changes[1:]])


def suda_scores(found: dict[tuple[int, ...], Ints], many: int, attributes: int, size: int) -> Floats:
    """SUDA score of each record from the minimal uniques."""
    scores = np.zeros(many)
    for chosen, records in found.items():
        scores[records] += math.prod(attributes - i for i in range(len(chosen), size + 1))
    return scores


def _run(sample: Sample, options: RiskOptions) -> Measured:
    d = len(sample.names)
    size = min(options.size, d - 1)
    found = minimal_uniques(sample, size)
    scores = suda_scores(found, len(sample), d, size)
    pi = sample.fraction if sample.fraction is not None else options.fraction
    ones, pairs = int((sample.f == 1).sum()), int((sample.f == 2).sum())
    bottom = pi * ones + 2 * (1 - pi) * pairs
    theta = pi * ones / bottom if bottom > 0 else 0.0
    special = scores > 0
    total = float(scores.sum())
    dis = np.minimum(1.0, theta * special.sum() * scores / total) if total > 0 else np.zeros(len(sample))
    share = np.zeros(d)
    for chosen, records in found.items():
        for at in chosen:
            share[at] += math.prod(d - i for i in range(len(chosen), size + 1)) * len(records)
    parts = [
        Figure(f"attribute:{name}", f"part of {name} in all scores", float(share[at] / total), share=True)
        for at, name in enumerate(sample.names)
        if total > 0
    ]
    known = "of the population" if sample.fraction is not None else "assumed"
    return Measured(
        figures=(
            Figure("special", "records with a minimal sample unique", float(special.sum())),
            Figure("uniques", "minimal sample uniques", float(sum(len(each) for each in found.values()))),
            Figure("highest", "highest SUDA score", float(scores.max())),
            Figure("dis", "probability that a unique match is right (DIS)", theta, share=True),
            Figure("highest-dis", "highest DIS score", float(dis.max()), share=True),
            *parts,
        ),
        records={"suda": scores, "dis": dis},
        notes=(f"Sets of up to {size} attributes; sampling fraction {pi:.3g}, {known}.",),
    )


SUDA = RiskMeasure(
    name="suda",
    title="Special uniques (SUDA)",
    question="Which records are unique by few attributes, and which attributes make them so?",
    needs="at least two quasi-identifiers",
    run=_run,
    applies=lambda sample: None if len(sample.names) > 1 else "It needs at least two quasi-identifiers.",
)
