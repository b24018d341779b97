"""Campaigns in two phases: the second block is opened once, by counts of reports alone, and shared by aggregators."""

import secrets
from datetime import timedelta

import numpy as np
import pytest

from tacita.collect.analysis import findings
from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.device.device import Device
from tacita.collect.device.question import Refusal
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.stopping import StopRule
from tacita.domain import Boolean, Domain
from tacita.errors import Conflict, InvalidInput
from tacita.store import Database
from tacita.store import clock as clock_module
from tacita.tables.workload import Workload
from tacita.testing.respondents import answer_campaign

DOMAIN = Domain(attributes=[Boolean(name=f"x{i}") for i in range(4)])
PAIRS = Workload.all(DOMAIN, 2)
ORIGINS = ("https://a.example", "https://b.example")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Database(url)


def plan(respondents=3000):
    return plan_collection(DOMAIN, PAIRS, respondents=respondents, epsilon=2.0, mode="tables", phases="two")


def opened(campaigns, design=None, **terms):
    terms = {"minimum": 20} | terms
    return campaigns.open(campaigns.create(design or plan(), title="Health", terms=Terms(**terms)).id)


def people(count, seed=0):
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, 2, count) for name in DOMAIN.names}
    codes["x1"] = np.where(rng.random(count) < 0.9, codes["x0"], codes["x1"])
    return codes


def device(tmp_path, name="d", service="https://survey.example"):
    return Device(
        service=service, ledger_path=tmp_path / f"{name}.json", limit_total_epsilon=4.0, limit_question_epsilon=2.0
    )


def sheet(campaigns, id):
    return [question.to_dict() for question in campaigns.sheet(id)]


TRUE = dict.fromkeys(DOMAIN.names, "true")


def test_the_second_block_opens_when_enough_have_answered_and_once(database):
    campaigns = Campaigns(database)
    id = opened(campaigns).id
    answer_campaign(campaigns, id, people(899))
    assert campaigns.advance(id).block == 1
    found = answer_campaign(campaigns, id, people(1, 1))
    assert found.block == 2
    mine = [asked for asked in found.design.questions if asked.block == 2]
    assert sum(asked.share for asked in mine) == pytest.approx(1)
    assert found.design.epsilon_upper <= 2.0
    again = answer_campaign(campaigns, id, people(4000, 2))  # more than were expected: there is no third
    assert again.block == 2
    assert again.questions == found.questions
    tables = findings.published(campaigns.tally(id))
    low, high = tables["x0", "x1"].interval(0.95)
    assert (low <= tables["x0", "x1"].values + 1e-9).all()
    assert (tables["x0", "x1"].values <= high + 1e-9).all()
    assert tables["x0", "x1"].event.epsilon <= 2.0
    assert campaigns.releases(id)["x0", "x1"].provenance.recipe["blocks"] == 2


def test_a_clock_opens_nothing(database, monkeypatch):
    campaigns = Campaigns(database)
    id = opened(campaigns).id
    answer_campaign(campaigns, id, people(500))
    real = clock_module.now
    monkeypatch.setattr(clock_module, "now", lambda: real() + timedelta(days=1000))
    assert campaigns.advance(id).block == 1


def test_a_server_that_was_killed_between_the_blocks_goes_on(database, monkeypatch):
    """The reports are on disk; the next process opens the same block from them."""
    campaigns = Campaigns(database)
    id = opened(campaigns).id

    def killed(*_args, **_keywords):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("tacita.collect.campaigns.store.second_design", killed)
        answer_campaign(campaigns, id, people(1000))
        assert campaigns.get(id).block == 1
        assert campaigns.get(id).reports == 1000
        with pytest.raises(RuntimeError):
            campaigns.advance(id)
    other, third = Campaigns(database), Campaigns(database)
    assert other.advance(id).block == 2
    assert other.get(id).questions == third.advance(id).questions == campaigns.advance(id).questions


def test_two_processes_do_not_open_it_twice(database, monkeypatch):
    """Both find the block full and compute the second design; the one that comes second changes nothing."""
    one, other = Campaigns(database), Campaigns(database)
    id = opened(one).id
    with monkeypatch.context() as patch:
        patch.setattr(one, "_try_to_advance", lambda _id: None)
        answer_campaign(one, id, people(1000))
    compute = one._second_phase

    def slowly(campaign):
        found = compute(campaign)
        other.advance(id)
        return found

    monkeypatch.setattr(one, "_second_phase", slowly)
    found = one.advance(id)
    assert found.block == 2
    assert len({question.question for question in found.questions}) == len(found.questions)
    assert found.questions == other.get(id).questions
    assert sum(1 for asked in found.design.questions if asked.block == 2) == len(found.design.view_shares(2))


def test_a_device_answers_one_block_only(database, tmp_path):
    campaigns = Campaigns(database)
    id = opened(campaigns).id
    mine, late = device(tmp_path), device(tmp_path, "late")
    fetched = sheet(campaigns, id)
    campaigns.accept(id, [report.to_dict() for report, _ in mine.answer_sheet(sheet(campaigns, id), TRUE)])
    answer_campaign(campaigns, id, people(1000))
    with pytest.raises(Refusal) as refused:
        mine.answer_sheet(sheet(campaigns, id), TRUE)
    assert refused.value.reason == "campaign-answered"
    # a report to the first block that comes late counts in that block, and the second stays as it is
    before = campaigns.get(id)
    campaigns.accept(id, [report.to_dict() for report, _ in late.answer_sheet(fetched, TRUE)])
    after = campaigns.get(id)
    assert after.reports == before.reports + 1
    assert after.questions == before.questions


def test_only_tables_that_may_be_published_decide(database):
    """With a minimum that no table reaches by the end of the first block the second asks what the first did."""
    campaigns = Campaigns(database)
    design = plan()
    with pytest.raises(InvalidInput) as refused:
        opened(campaigns, design, minimum=1000)
    assert refused.value.field == "minimum"


@pytest.mark.parametrize(
    ("terms", "field"), [({"rounds": Rounds(size=10)}, "rounds"), ({"stop": StopRule(half_width=0.1)}, "stop")]
)
def test_what_does_not_go_with_two_phases(database, terms, field):
    with pytest.raises(InvalidInput) as refused:
        opened(Campaigns(database), **terms)
    assert refused.value.field == field


@pytest.fixture
def pair(tmp_path):
    """Two aggregators that share a campaign."""
    leading = Campaigns(Database(f"sqlite:///{tmp_path}/lead.db"))
    following = Campaigns(Database(f"sqlite:///{tmp_path}/follow.db"))
    for place, each in enumerate((leading, following)):
        terms = Terms(minimum=20, shard=(place, 2), aggregators=ORIGINS)
        each.open(each.create(plan(), title="Health", terms=terms, id="shared").id)
    return leading, following


def test_aggregators_share_the_second_phase(pair):
    leading, following = pair
    answer_campaign(leading, "shared", people(500))
    answer_campaign(following, "shared", people(1200, 1))
    assert following.advance("shared").block == 1  # it waits for the first aggregator
    assert leading.advance("shared").block == 1
    assert leading.merge("shared", following.export("shared")).block == 2
    adopted = following.adopt("shared", leading.block("shared"))
    assert adopted.block == 2
    assert adopted.questions == leading.get("shared").questions
    assert adopted.design.view_shares(2) == leading.get("shared").design.view_shares(2)
    assert following.adopt("shared", leading.block("shared")).questions == adopted.questions  # twice is as once
    answer_campaign(leading, "shared", people(300, 2))
    answer_campaign(following, "shared", people(300, 3))
    merged = leading.merge("shared", following.export("shared"))
    assert merged.reports == 2300
    assert len(findings.published(leading.tally("shared"))) >= len(PAIRS)


def _other_campaign(block):
    block["campaign"] = "other"


def _first_block(block):
    block["block"] = 1


def _no_tables(block):
    del block["tables"]


def _too_few_tables(block):
    block["tables"].pop()


def _unknown_attribute(block):
    block["tables"][0]["attributes"] = ["income"]


def _not_names(block):
    block["tables"][0]["attributes"] = [["x0"], {}]


def _other_attributes(block):
    block["tables"][0], block["tables"][-1] = block["tables"][-1], block["tables"][0]


def _shares(block):
    block["tables"][0]["share"] = 0.9


def _no_share(block):
    block["tables"][0]["share"] = float("nan")


def _twice(block):
    for part in ("tables", "questions"):
        block[part].append(block[part][0])


def _dearer(block):
    for question in block["questions"]:
        question["epsilon"] = 8.0


@pytest.mark.parametrize(
    "change",
    [
        _other_campaign,
        _first_block,
        _no_tables,
        _too_few_tables,
        _unknown_attribute,
        _not_names,
        _other_attributes,
        _shares,
        _no_share,
        _twice,
        _dearer,
    ],
)
def test_a_second_phase_that_asks_something_else_is_not_adopted(pair, change):
    leading, following = pair
    answer_campaign(leading, "shared", people(1000))
    block = leading.block("shared")
    assert block["block"] == 2
    change(block)
    with pytest.raises((InvalidInput, Refusal)):
        following.adopt("shared", block)
    assert following.get("shared").block == 1
    assert len(following.get("shared").questions) == len(plan().questions)


def test_the_first_aggregator_adopts_nothing_and_no_tally_is_merged_twice(pair):
    leading, following = pair
    answer_campaign(following, "shared", people(400, 1))
    export = following.export("shared")
    leading.merge("shared", export)
    assert leading.merge("shared", export).reports == 400
    answer_campaign(leading, "shared", people(600))
    with pytest.raises(Conflict):
        leading.adopt("shared", leading.block("shared"))
    with pytest.raises(InvalidInput):  # of the first block's questions only: the follower has not adopted yet
        leading.merge("shared", export)
    following.adopt("shared", leading.block("shared"))
    with pytest.raises(InvalidInput):
        following.merge("shared", following.export("shared"))


def test_a_question_of_a_block_that_was_not_opened_is_refused(database):
    campaigns = Campaigns(database)
    campaign = opened(campaigns)
    report = {
        "wire": 1,
        "campaign": campaign.id,
        "question": "q1.2",
        "report": secrets.token_hex(16),
        "answer": 0,
    }
    with pytest.raises(InvalidInput):
        campaigns.accept(campaign.id, [report])
