"""What can be read off a campaign over the Survey network, whose truth is known."""

import itertools
import json

import numpy as np
import pytest

from tacita.collect.analysis import findings
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.campaigns import Campaigns, Terms
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.demo.survey import DOMAIN, simulate
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.store import Database
from tacita.tables.workload import Workload
from tacita.testing.respondents import answer_campaign

PEOPLE = 60_000


@pytest.fixture(scope="module")
def tally(tmp_path_factory):
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path_factory.mktemp('findings')}/s.db"))
    design = plan_collection(DOMAIN, Workload.all(DOMAIN, 2), respondents=PEOPLE, epsilon=4.0, mode="tables")
    terms = Terms(raised_limits=True)
    id = campaigns.open(campaigns.create(design, title="Survey", terms=terms).id).id
    answer_campaign(campaigns, id, DOMAIN.encode(simulate(PEOPLE, seed=3), DOMAIN.names), seed=4)
    return campaigns.tally(id)


def test_tables_as_published(tally):
    raw, agreed, modelled = (findings.published(tally, how) for how in ("raw", "consistent", "modelled"))
    assert set(raw) == set(agreed) == set(modelled)
    assert all((release.values >= 0).all() for found in (agreed, modelled) for release in found.values())
    assert np.isfinite(next(iter(raw.values())).std()).all()


def test_every_published_table_has_intervals(tally):
    for how in ("auto", "pooled", "consistent", "singles", "modelled"):
        for release in findings.published(tally, how).values():
            low, high = release.interval(0.95)
            assert np.isfinite(high - low).all()
            assert (low <= release.values).all()
            assert (release.values <= high).all()


def test_the_automatic_choice_is_stated(tally):
    found = findings.published(tally, "auto")
    recipe = next(iter(found.values())).provenance.recipe
    assert recipe["published"] == recipe["automatic"]["way"] in ("consistent", "modelled")
    said = findings.explain(found)
    assert said[0].startswith(f"Published as {recipe['published']} (estimated error")
    assert findings.explain(findings.published(tally, "pooled")) == []


def test_tables_that_were_shrunk_to_independence_are_named(tally):
    found = findings.published(tally, "singles")
    assert all(release.provenance.recipe.get("independent") == (len(key) > 1 or None) for key, release in found.items())
    (said,) = findings.explain(found)
    assert "Shrunk to independence" in said
    assert f"{DOMAIN.names[0]} x {DOMAIN.names[1]}" in said


def test_every_attribute_has_one_prevalence_from_all_reports(tally):
    single, raw = findings.prevalences(tally), tally.releases()
    assert list(single) == [(name,) for name in DOMAIN.names]
    for (name,), release in single.items():
        assert (release.std() < raw[name,].std()).all()
        assert release.provenance.recipe["reports"] > raw[name,].provenance.recipe["respondents"]


def test_a_test_and_the_network_do_not_contradict_each_other_in_silence(tally):
    """A pair that one test alone rejects, and that has no edge: both say why."""
    learned = findings.network(tally)
    pairs = learned.structure.candidates
    assert pairs == 15
    for a, b in itertools.combinations(DOMAIN.names, 2):
        verdict = findings.independence(tally, Hypothesis.of(a, b))
        said = verdict.caution is not None and f"looks at {pairs} pairs" in verdict.caution
        assert said == (0.05 / pairs < verdict.p_value <= 0.05)


def test_independence_is_found_where_it_is_and_only_there(tally):
    names = DOMAIN.names
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    verdicts = {pair: findings.independence(tally, Hypothesis.of(*pair)) for pair in pairs}
    least = min(verdicts, key=lambda pair: verdicts[pair].p_value)
    assert verdicts[least].reject(1e-3)
    age, sex = names[0], next(name for name in names if name.lower().startswith("s"))
    assert verdicts[(age, sex)].p_value > 1e-4  # independent in the network


def test_a_simulated_threshold(tally):
    key = next(key for key in tally.releases() if len(key) == 2)
    verdict = findings.independence(tally, Hypothesis.of(*key), simulations=19)
    assert 0 < verdict.p_value <= 1
    assert "Monte Carlo" in verdict.method


def test_what_was_not_asked_cannot_be_tested(tally):
    with pytest.raises(InvalidInput, match="no table"):
        findings.independence(tally, Hypothesis.of(*DOMAIN.names[:3]))


def test_a_pair_inside_a_larger_table_is_tested_by_its_covariance_only():
    design = plan_collection(DOMAIN, Workload.of(DOMAIN.names[:3]), respondents=5000, epsilon=4.0, mode="tables")
    codes = DOMAIN.encode(simulate(5000, seed=3), DOMAIN.names)
    larger = Tally(design).add(respond(design, codes, SeededSource(1), seed=1))
    pair = Hypothesis.of(*DOMAIN.names[:2])
    assert 0 <= findings.independence(larger, pair).p_value <= 1
    with pytest.raises(InvalidInput, match="all attributes of one question"):
        findings.independence(larger, pair, simulations=19)


def test_a_network_and_rows_from_it(tally):
    learned = findings.network(tally)
    assert learned.structure.links
    assert learned.event.epsilon <= 4.0
    for by in ("classes", "network"):
        rows = findings.synthetic(tally, 500, np.random.default_rng(1), by=by)
        assert rows.num_rows == 500
        assert set(rows.column_names) == set(DOMAIN.names)
        assert json.loads(rows.schema.metadata[b"tacita"])["synthetic"] is True


def test_synthetic_rows_have_the_tables(tally):
    rows = DOMAIN.encode(findings.synthetic(tally, 50_000, np.random.default_rng(1)), DOMAIN.names)
    truth = DOMAIN.encode(simulate(50_000, seed=9), DOMAIN.names)
    for name in DOMAIN.names:
        one, two = (np.bincount(codes[name], minlength=DOMAIN[name].size) / 50_000 for codes in (rows, truth))
        assert np.abs(one - two).max() < 0.03


def test_integrity_is_stated_for_every_question(tally):
    found = findings.integrity(tally)
    assert len(found) == len(tally.design.questions)
    for each in found:
        assert 0 < each.one_report < each.one_percent
        assert each.p_value is None or each.p_value > 1e-6
        assert each.p_value is not None or each.note


def test_a_table_larger_than_any_question(tally):
    three = DOMAIN.names[:3]
    truth = DOMAIN.encode(simulate(100_000, seed=8), three)
    exact = np.zeros(DOMAIN.project(three).shape)
    np.add.at(exact, tuple(truth[name] for name in three), 1 / 100_000)
    for how in ("consistent", "modelled"):
        found = findings.table(tally, three, how)
        assert 0.5 * np.abs(found.values - exact).sum() < 0.1
        assert found.provenance.recipe["reconstructed"]
        low, high = found.interval(0.95)
        assert ((low <= exact + 0.02) & (exact - 0.02 <= high)).all()
        assert 0 < (high - low).max() < 0.2
    with pytest.raises(UnknownName):
        findings.table(tally, three, "raw")
    assert findings.table(tally, three[:2], "raw").values.shape == DOMAIN.project(three[:2]).shape


def test_structure_from_another_group(tally):
    learned = findings.network(tally, structure=tally)
    assert learned.network.edges == findings.network(tally).network.edges
