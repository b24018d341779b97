import json

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.estimating.consistency import consistent
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Reports, Tally, respond, simulate
from tacita.collect.planning.design import FEWEST, Asked, CollectionDesign, compare_budgets
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Boolean, Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SeededSource
from tacita.plans.rehearsal import dependent_population
from tacita.tables.workload import Workload

NAMES = ("a", "b", "c")
DOMAIN = Domain(
    attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in zip(NAMES, (3, 4, 2), strict=True)]
)
PAIRS = Workload.all(DOMAIN, 2)


def plan(respondents=20_000, epsilon=2.0, **options):
    return plan_collection(DOMAIN, PAIRS, respondents=respondents, epsilon=epsilon, **options)


def test_nobody_pays_more_than_was_promised():
    design = plan(mode="tables")
    assert design.epsilon_upper <= 2.0
    assert {q.attributes for q in design.questions} >= set(PAIRS)
    assert sum(q.share for q in design.questions) == pytest.approx(1)


def test_few_people_are_asked_single_attributes_and_many_are_asked_tables():
    few, many = plan(respondents=2000, epsilon=0.5, dependence=0.02), plan(respondents=300_000, epsilon=2.0)
    assert (few.mode, many.mode) == ("singles", "tables")
    assert "away from independent" in many.why
    assert many.rehearsed < 0.05
    assert plan(respondents=3 * FEWEST).mode == "singles"


def test_the_plan_is_plain_data():
    data = json.loads(json.dumps(plan(mode="tables").as_dict()))
    assert len(data["predictions"]) == len(data["questions"]) == 6


def test_larger_tables_are_asked_of_more_people():
    shares = {q.attributes: q.share for q in plan(mode="tables").questions}
    assert shares["a", "b"] > shares["b", "c"] > shares["a", "c"] > shares["c",]


def test_one_question_each_beats_a_split_budget():
    found = compare_budgets(levels=4, epsilon=1.0, respondents=10_000, answers=3)
    one, split = found.values()
    assert one < 0.6 * split


def people(n, seed=5):
    return dependent_population(DOMAIN, NAMES, dependence=0.2, seed=seed).sample(n, np.random.default_rng(seed))


def truth_of(codes, key):
    table = np.zeros(DOMAIN.project(key).shape)
    np.add.at(table, tuple(codes[name] for name in key), 1 / len(codes["a"]))
    return table


def test_estimates_are_unbiased_and_intervals_cover():
    codes, design = people(4000), plan(respondents=4000, mode="tables")
    inside, sums = [], {}
    for run in range(120):
        tally = Tally(design).add(respond(design, codes, SeededSource(run), seed=run))
        for key, release in tally.releases().items():
            low, high = release.interval(0.95)
            inside.append(np.mean((low <= truth_of(codes, key)) & (truth_of(codes, key) <= high)))
            sums[key] = sums.get(key, 0) + release.values / 120
    assert 0.93 <= np.mean(inside) <= 0.97
    for key, average in sums.items():
        assert np.abs(average - truth_of(codes, key)).max() < 0.02


def test_publishing_comes_nearer_to_the_truth():
    codes, design = people(30_000), plan(respondents=30_000, mode="tables")
    tally = Tally(design).add(respond(design, codes, SeededSource(1), seed=9))
    published = model(tally)
    raw = tally.releases()

    def miss(found):
        return np.mean([0.5 * np.abs(found.project(key).values - truth_of(codes, key)).sum() for key in PAIRS])

    assert miss(published) < 0.7 * miss(raw)
    for release in published.releases().values():
        assert (release.values >= 0).all()
        assert release.values.sum() == pytest.approx(1)
        low, high = release.interval(0.95)  # of the unbiased table behind it
        assert ((low <= release.values) & (release.values <= high)).all()
        assert np.isfinite(release.std()).all()


def test_everybody_who_is_asked_answers():
    """Who has no place in the schema must not be known by silence."""
    design = plan(respondents=600, mode="tables")
    inside = {name: np.zeros(600, np.uint8) for name in NAMES}
    outside = {name: np.full(600, DOMAIN[name].out_of_domain) for name in NAMES}
    sent = [respond(design, codes, SeededSource(1), seed=3).by_question for codes in (inside, outside)]
    assert {n: len(batch) for n, batch in sent[0].items()} == {n: len(batch) for n, batch in sent[1].items()}
    assert sum(len(batch) for batch in sent[0].values()) == 600


def test_recurrent_data_is_refused():
    persons = Domain(person="p", attributes=[Identifier(name="p"), *DOMAIN.attributes])
    with pytest.raises(InvalidInput, match="person"):
        plan_collection(persons, PAIRS, respondents=1000, epsilon=1.0, mode="tables")


def test_a_table_made_from_all_reports_costs_what_the_dearest_question_does():
    cheap, dear = (RandomizedResponse.k_ary(levels=k, epsilon=e) for k, e in ((3, 0.5), (12, 5.0)))
    design = CollectionDesign(
        domain=DOMAIN,
        questions=(
            Asked(attributes=("a",), channel=cheap, share=0.5),
            Asked(attributes=("a", "b"), channel=dear, share=0.5),
        ),
        epsilon=5.0,
        respondents=2000,
        mode="tables",
    )
    tally = Tally(design).add(respond(design, people(2000), SeededSource(1), seed=2))
    for releases in (model(tally).releases(), consistent(tally.releases())):
        for release in releases.values():
            assert release.event.epsilon >= dear.epsilon_upper


def test_intervals_hold_their_level_in_small_tables_too():
    """Fifty answers to twenty cells: most cells are never seen."""
    channel = RandomizedResponse.k_ary(levels=12, epsilon=5.0)
    question = Asked(attributes=("a", "b"), channel=channel, share=1.0)
    design = CollectionDesign(domain=DOMAIN, questions=(question,), epsilon=5.0, respondents=50, mode="tables")
    population = dependent_population(DOMAIN, NAMES, dependence=0.1, seed=2)
    truth, inside = population.project(("a", "b")).values, []
    for run in range(200):
        codes = population.sample(50, np.random.default_rng(10_000 + run))
        release = Tally(design).add(respond(design, codes, SeededSource(run), seed=run)).releases()["a", "b"]
        low, high = release.interval(0.95)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.92 <= np.mean(inside) <= 0.985


def test_larger_tables_are_published_too():
    workload = Workload.of(["a", "b", "c"])
    design = plan_collection(DOMAIN, workload, respondents=50_000, epsilon=2.0, mode="tables")
    codes = people(50_000)
    published = model(Tally(design).add(respond(design, codes, SeededSource(1), seed=2)))
    assert 0.5 * np.abs(published.project(NAMES).values - truth_of(codes, NAMES)).sum() < 0.06
    assert published.project(("b", "a")).values.shape == (4, 3)


def test_adding_is_all_or_nothing_and_remembers_simulation():
    design = plan(respondents=600, mode="tables")
    reports = respond(design, people(600), SeededSource(1), seed=3)
    tally = Tally(design)
    for wrong in ({-1: reports.by_question[0]}, {0: reports.by_question[0], 99: reports.by_question[1]}):
        with pytest.raises(InvalidInput, match="question"):
            tally.add(Reports(wrong, simulated=False))
    assert not list(tally)
    assert all(r.provenance.simulated for r in tally.add(reports).releases().values())


def test_tallies_of_several_aggregators_merge():
    codes, design = people(3000), plan(respondents=3000, mode="tables")
    reports = respond(design, codes, SeededSource(1), seed=1)
    whole = Tally(design).add(reports)
    halves = [
        Tally(design).add(Reports({k: batch[part] for k, batch in reports.by_question.items()}, simulated=True))
        for part in (slice(0, 100), slice(100, None))
    ]
    merged = halves[0].merge(halves[1]).releases()
    for key, release in whole.releases().items():
        np.testing.assert_allclose(release.values, merged[key].values)


def test_the_aggregator_sees_reports_only(monkeypatch):
    """Whatever the aggregator is given is a function of the reports: true codes never reach its code."""
    design, codes = plan(respondents=500, mode="tables"), people(500)
    reports = respond(design, codes, SeededSource(1), seed=1)
    seen = []
    for asked in {type(q.channel) for q in design.questions}:
        honest = asked.tally
        monkeypatch.setattr(asked, "tally", lambda self, r, honest=honest: seen.append(r) or honest(self, r))
    Tally(design).add(reports)
    assert all(any(batch is r for r in reports.by_question.values()) for batch in seen)
    assert len(seen) == len(reports.by_question)


def test_simulation_over_an_engine():
    import pyarrow as pa

    codes = people(2000)
    table = pa.table({name: [str(code) for code in codes[name]] for name in NAMES})
    design = plan(respondents=2000, mode="singles")
    releases = simulate(design, LocalEngine(DOMAIN, table), SeededSource(3)).releases()
    assert all(release.provenance.simulated for release in releases.values())
    assert releases.project(["a"]).values.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "options",
    [{"respondents": 0}, {"respondents": True}, {"epsilon": 0}, {"dependence": 2}, {"mode": "guess"}],
)
def test_refusals(options):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        plan(**options)


def test_shares_must_sum_to_one():
    question = plan(mode="singles").questions[0]
    with pytest.raises(InvalidInput, match="sum to 1"):
        CollectionDesign(
            domain=DOMAIN,
            questions=(Asked(attributes=("a",), channel=question.channel, share=0.5),),
            epsilon=1.0,
            respondents=10,
            mode="singles",
        )


def test_nothing_derived_is_asked():
    drafted = Domain(attributes=[Boolean(name="x", derived=("kind",))])
    with pytest.raises(NotPublic):
        plan_collection(drafted, Workload.of(["x"]), respondents=100, epsilon=1.0)


def test_larger_views_are_chosen_or_asked_for():
    many = Domain(attributes=[Boolean(name=f"x{i}") for i in range(10)])
    pairs = Workload.all(many, 2)
    design = plan_collection(many, pairs, respondents=50_000, epsilon=2.0, mode="views")
    assert max(len(question.attributes) for question in design.questions) > 2
    assert design.epsilon_upper <= 2.0
    auto = plan_collection(many, pairs, respondents=50_000, epsilon=4.0)
    assert "views of up to" in auto.why
    assert max(len(question.attributes) for question in auto.questions) > 2
    assert auto.wanted == tuple(pairs)
    with pytest.raises(InvalidInput, match="channel"):
        plan_collection(many, pairs, respondents=50_000, epsilon=2.0, mode="views", channel="rr")


def test_a_view_never_asks_about_an_attribute_twice_and_shares_epsilon():
    design = plan(answers="view")
    assert design.epsilon_upper <= 2.0 * (1 + 1e-12)
    for view in design.views:
        names = [name for number in view for name in design.questions[number].attributes]
        assert len(names) == len(set(names))
    codes = people(3000)
    sent = respond(design, codes, SeededSource(1), seed=2).by_question
    told = sum(len(batch) for batch in sent.values())
    assert told == sum(len(view) * len(sent[view[0]]) for view in design.views if view[0] in sent)


@pytest.mark.parametrize("views", [((0,),), ((0, 0), (1,)), ((0, 1), (2,))])
def test_views_that_are_none(views):
    channel = RandomizedResponse.k_ary(levels=3, epsilon=1.0)
    pair = RandomizedResponse.k_ary(levels=12, epsilon=1.0)
    asked = (
        Asked(attributes=("a",), channel=channel, share=0.5),
        Asked(attributes=("a", "b"), channel=pair, share=0.5),
    )
    with pytest.raises(InvalidInput, match="views"):
        CollectionDesign(domain=DOMAIN, questions=asked, epsilon=1.0, respondents=10, mode="tables", views=views)
