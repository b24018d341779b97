"""One set for each respondent: the loss by enumeration, also of whole rows; no bias; nothing filled in is counted."""

import itertools
import math

import numpy as np
import pytest

from tacita.collect.estimating.tally import Reports, Tally, respond
from tacita.collect.protocols.rrba_modified import conditional, emit_rows, one_set_design
from tacita.demo import survey
from tacita.domain import Boolean, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells

BITS = Domain(attributes=[Boolean(name=name) for name in "ABC"])
SETS = (("A", "B"), ("B", "C"))
SKEWED = {
    key: Cells(BITS.project(key), np.array([[0.6, 0.1], [0.05, 0.25]]) if key == SETS[0] else np.full((2, 2), 0.25))
    for key in SETS
}


def cell_law(design, number):
    """P(cell of the set | record), records in the rows, from the integers of the channel."""
    asked = design.questions[number]
    records = list(itertools.product(range(2), repeat=3))
    place = [
        np.ravel_multi_index([record["ABC".index(name)] for name in asked.attributes], (2, 2)) for record in records
    ]
    return asked.channel.matrix()[place]


def worst(law):
    return max(math.log(column.max() / column.min()) for column in law.T)


@pytest.mark.parametrize(("tables", "floor"), [(None, 1.0), (SKEWED, 0.4), (SKEWED, 0.01)])
def test_loss_over_all_records_is_that_of_the_formula(tables, floor):
    design = one_set_design(BITS, SETS, epsilon=1.2, respondents=100, tables=tables, floor=floor)
    for number, asked in enumerate(design.questions):
        channel = asked.channel
        rarest = min(channel.fake) / sum(channel.fake)
        p = channel.keep_probability
        assert worst(cell_law(design, number)) == pytest.approx(math.log(1 + p / ((1 - p) * rarest)), abs=1e-9)
        assert worst(cell_law(design, number)) == pytest.approx(1.2, abs=1e-8)
    assert design.epsilon_upper <= 1.2


def test_whole_rows_cost_no_more():
    """The law of a row given a record, with the completion spelled out: the set in sight, and hidden by the lot."""
    design = one_set_design(BITS, SETS, epsilon=1.0, respondents=100, tables=SKEWED, floor=0.2)
    c_given_b = conditional(SKEWED["B", "C"], ("B",), ("C",))
    a_given_b = conditional(SKEWED["A", "B"], ("B",), ("A",))
    first = np.einsum("xab,bc->xabc", cell_law(design, 0).reshape(8, 2, 2), c_given_b).reshape(8, 8)
    second = np.einsum("xbc,ba->xabc", cell_law(design, 1).reshape(8, 2, 2), a_given_b).reshape(8, 8)
    for law in (first, second, (first + second) / 2):
        np.testing.assert_allclose(law.sum(axis=1), 1)
        assert worst(law) <= 1.0 + 1e-9
    assert worst(first) == pytest.approx(1.0, abs=1e-8)


def test_rows_follow_the_public_tables():
    """What is filled in has the law of the public table given the answer; what was answered is left as it came."""
    design = one_set_design(BITS, SETS, epsilon=1.0, respondents=100)
    batch = np.arange(200_000) % 4
    rows = emit_rows(design, Reports({1: batch}, True), SKEWED, np.random.default_rng(1))
    assert rows.codes["B"].tolist() == (batch // 2).tolist()
    assert rows.codes["C"].tolist() == (batch % 2).tolist()
    assert rows.answered["B"].all()
    assert rows.answered["C"].all()
    assert not rows.answered["A"].any()
    for b in (0, 1):
        share = rows.codes["A"][rows.codes["B"] == b].mean()
        expected = conditional(SKEWED["A", "B"], ("B",), ("A",))[b, 1]
        assert abs(share - expected) < 5 * math.sqrt(0.25 / 100_000)


def test_no_mass_falls_back_to_the_margin():
    table = Cells(BITS.project(["A", "B"]), np.array([[0.25, 0.75], [0.0, 0.0]]))
    np.testing.assert_allclose(conditional(table, ("A",), ("B",)), [[0.25, 0.75], [0.25, 0.75]])
    empty = Cells(BITS.project(["A", "B"]), np.zeros((2, 2)))
    np.testing.assert_allclose(conditional(empty, ("A",), ("B",)), 0.5)


def test_estimates_have_no_bias_on_the_survey():
    domain, sets, people = survey.DOMAIN, survey.PARENT_SETS, 3000
    public = {key: survey.truth().project(key) for key in sets}
    design = one_set_design(domain, sets, epsilon=2.0, respondents=people, tables=public, floor=0.5)
    misses = {key: [] for key in sets}
    stated = {}
    for seed in range(40):
        codes = domain.encode(survey.simulate(people, seed))
        releases = Tally(design).add(respond(design, codes, SeededSource(seed), seed=1000 + seed)).releases()
        for key in sets:
            misses[key].append(releases[key].values - public[key].values)
            stated[key] = releases[key].std()
    for key in sets:
        z = np.mean(misses[key], axis=0) / (stated[key] / math.sqrt(40))
        assert np.abs(z).max() < 5
        assert 0.8 < np.mean(z**2) ** 0.5 < 1.25


def test_counting_what_was_filled_in_is_wrong():
    """A = B = C, public tables uniform: reports say P(B = C) = 1, rows with their fillings say far less."""
    people = 40_000
    bit = np.random.default_rng(1).integers(0, 2, people)
    design = one_set_design(BITS, SETS, epsilon=4.0, respondents=people)
    reports = respond(design, dict.fromkeys("ABC", bit), SeededSource(1), seed=2)
    table = Tally(design).add(reports).releases()["B", "C"]
    equal = table.values[0, 0] + table.values[1, 1]
    assert equal == pytest.approx(1, abs=0.05)
    even = {key: Cells(BITS.project(key), np.full((2, 2), 0.25)) for key in SETS}
    rows = emit_rows(design, reports, even, np.random.default_rng(3))
    filled = ~(rows.answered["B"] & rows.answered["C"])
    assert filled.mean() == pytest.approx(0.5, abs=0.02)
    assert np.mean(rows.codes["B"][filled] == rows.codes["C"][filled]) == pytest.approx(0.5, abs=0.02)


def test_refusals():
    design = one_set_design(BITS, SETS, epsilon=1.0, respondents=100)
    reports = Reports({0: np.array([0, 1])}, True)
    with pytest.raises(InvalidInput, match="no public table"):
        emit_rows(design, reports, {("A", "B"): SKEWED["A", "B"]}, np.random.default_rng(0))
    negative = {key: Cells(BITS.project(key), np.array([[0.6, -0.1], [0.25, 0.25]])) for key in SETS}
    with pytest.raises(InvalidInput, match="negative"):
        emit_rows(design, reports, negative, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="sets"):
        one_set_design(BITS, [("A", "B"), ("B", "A")], epsilon=1.0, respondents=100)
