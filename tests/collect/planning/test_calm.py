"""Chosen views: they hold the workload, grow with the people, predict their error, and beat asking every pair."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.estimating.consistency import consistent
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.calm import choose_views, cover, table_of
from tacita.collect.planning.design import CollectionDesign, ask
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

WIDE = Domain(attributes=[Boolean(name=f"x{i}") for i in range(16)])
MIXED = Domain(
    attributes=[Categorical(name=f"y{i}", levels=[str(v) for v in range(k)]) for i, k in enumerate((2, 3, 5, 2, 8, 4))]
)
CHANCES = np.random.default_rng(0).random((3, 16))
KINDS = np.array([0.5, 0.3, 0.2])


def people(count, seed):
    """Three kinds of people; within a kind the attributes are independent."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, count, p=KINDS)
    return {f"x{i}": (rng.random(count) < CHANCES[kind, i]).astype(int) for i in range(16)}


def truth(names):
    columns = [CHANCES[:, int(name[1:])] for name in names]
    parts = [np.stack([1 - column, column], axis=1) for column in columns]
    letters = "abcd"[: len(parts)]
    return np.einsum("z," + ",".join(f"z{c}" for c in letters) + "->" + letters, KINDS, *parts)


def miss(design, keys, seed, count):
    """Mean total variation distance of the published tables from the population's."""
    tally = Tally(design).add(respond(design, people(count, seed), SeededSource(seed), seed=700 + seed))
    found = consistent(tally.releases())
    return np.mean([0.5 * np.abs(table_of(found, WIDE.project(key)).values - truth(key)).sum() for key in keys])


@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("domain", [WIDE, MIXED], ids=["binary", "mixed"])
def test_covers_hold_every_wanted_part(domain, size, ways):
    workload = Workload.sample(domain, ways, min(40, len(Workload.all(domain, ways))), seed=1)
    views = cover(domain, workload, size, most_cells=200)
    for key in workload:
        for part in itertools.combinations(key, min(size, ways)):
            assert any(set(part) <= set(view) for view in views)
    for view in views:
        assert len(view) <= size
        assert list(view) == sorted(view, key=domain.names.index)
        inside_a_key = any(set(view) <= set(key) for key in workload)
        assert inside_a_key or domain.project(view).size <= 200


def test_a_cover_is_not_far_from_the_fewest():
    """Sixteen points: at least 37 triples or 20 quadruples are needed to hold all pairs."""
    pairs = Workload.all(WIDE, 2)
    assert 37 <= len(cover(WIDE, pairs, 3)) <= 48
    assert 20 <= len(cover(WIDE, pairs, 4)) <= 30


@pytest.mark.parametrize("ways", [2, 3])
def test_more_people_larger_views_smaller_errors(ways):
    workload = Workload.all(Domain(attributes=WIDE.attributes[:10]), ways)
    counts = (200, 2000, 20_000, 200_000, 2_000_000, 20_000_000)
    chosen = [choose_views(WIDE, workload, respondents=n, epsilon=1.0) for n in counts]
    sizes = [one.size for one in chosen]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] > ways - 1
    errors = [np.mean([table.error for table in one.predicted]) for one in chosen]
    assert errors == sorted(errors, reverse=True)
    assert all(not table.missed for table in chosen[-1].predicted)


def test_what_is_believed_about_dependence_matters():
    pairs = Workload.all(WIDE, 2)
    believed = {
        strength: choose_views(WIDE, pairs, respondents=20_000, epsilon=1.0, dependence=strength)
        for strength in (0.0, 0.1, 0.5)
    }
    assert believed[0.0].size == 1  # nothing to find, so nothing is asked
    assert believed[0.5].size > 1
    assert not any(table.missed for table in believed[0.5].predicted)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_predicted_errors_are_those_that_come(size):
    """Noise before the projection, which the prediction is about, is met within a fifth by the published tables."""
    pairs = Workload.all(WIDE, 2)
    chosen = choose_views(WIDE, pairs, respondents=100_000, epsilon=1.5)
    views = cover(WIDE, pairs, size)
    found = np.mean(
        [miss(replace(chosen, views=views, size=size).design(), pairs.keys, seed, 100_000) for seed in (1, 2)]
    )
    assert 0.8 < found / chosen.tried[size] < 1.2


def test_fewer_larger_views_beat_asking_every_pair():
    """Sixteen attributes, 120 pairs, the same people and reports from the real channels."""
    pairs, count = Workload.all(WIDE, 2), 50_000
    for epsilon in (1.0, 2.0):
        chosen = choose_views(WIDE, pairs, respondents=count, epsilon=epsilon)
        questions = tuple(ask(WIDE, pairs.keys, epsilon, count))
        direct = CollectionDesign(domain=WIDE, questions=questions, epsilon=epsilon, respondents=count, mode="tables")
        ours = np.mean([miss(chosen.design(), pairs.keys, seed, count) for seed in (1, 2, 3)])
        theirs = np.mean([miss(direct, pairs.keys, seed, count) for seed in (1, 2, 3)])
        assert ours < 0.95 * theirs


def test_a_table_that_no_view_holds_is_completed():
    triples = Workload.of(["x0", "x1", "x2"], ["x3", "x4", "x5"])
    chosen = choose_views(WIDE, triples, respondents=300_000, epsilon=4.0)
    pairs = cover(WIDE, triples, 2)
    design = replace(chosen, views=pairs, size=2).design()
    assert miss(design, triples.keys, 1, 300_000) < 0.03


def test_the_choice_is_explained_and_keeps_the_promise():
    chosen = choose_views(WIDE, Workload.all(WIDE, 2), respondents=100_000, epsilon=1.0)
    assert f"{len(chosen.views)} views" in chosen.why
    assert chosen.tried[chosen.size] == min(chosen.tried.values())
    design = chosen.design()
    assert design.epsilon_upper <= 1.0
    assert sum(asked.share for asked in design.questions) == pytest.approx(1)


def test_refusals():
    pairs = Workload.all(WIDE, 2)
    with pytest.raises(InvalidInput, match="respondents"):
        choose_views(WIDE, pairs, respondents=0, epsilon=1.0)
    with pytest.raises(InvalidInput, match="dependence"):
        choose_views(WIDE, pairs, respondents=10, epsilon=1.0, dependence=2.0)
    with pytest.raises(InvalidInput):
        choose_views(WIDE, Workload.of(["x0", "z"]), respondents=10, epsilon=1.0)
