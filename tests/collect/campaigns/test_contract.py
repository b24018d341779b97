"""The contract between devices and releases: what a stock device loses is what the releases state.

In each test one respondent is the only one, so that every release is about their reports and nothing else.
"""

from contextlib import suppress

import pytest

from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.device.blind import buy_token
from tacita.collect.device.device import Device
from tacita.collect.device.question import Refusal
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.errors import Conflict, InvalidInput
from tacita.store import Database
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1", "2"]) for name in "abcd"])
TRUTH = dict.fromkeys("abcd", "1")
VISITS = 40  # each is given a view by lot: all 40 get the same one with a probability far below 1e-6


@pytest.fixture
def campaigns(tmp_path):
    return Campaigns(Database(f"sqlite:///{tmp_path}/state.db"))


@pytest.fixture
def device(tmp_path):
    """A device whose limits never come first."""
    return Device(
        service="https://survey.example",
        ledger_path=tmp_path / "ledger",
        limit_total_epsilon=1000.0,
        limit_question_epsilon=1000.0,
    )


def open_campaign(campaigns, *, answers="one", rounds=None, id=None, **terms):
    design = plan_collection(
        DOMAIN,
        Workload.all(DOMAIN, 2),
        respondents=5000,
        epsilon=1.0,
        mode="tables",
        answers=answers,
        channel="rr" if rounds else "auto",
    )
    created = campaigns.create(design, title="Contract", id=id, terms=Terms(minimum=1, rounds=rounds, **terms))
    return campaigns.open(created.id)


def answer_everything(campaigns, id, device, token=None):
    """Visit again and again, answer whatever the device answers, send it; how often it refused, by reason."""
    refused = []
    for _ in range(VISITS):
        sheet = [question.to_dict() for question in campaigns.sheet(id)]
        try:
            sent = device.answer_sheet(sheet, TRUTH, token=token)
        except Refusal as refusal:
            refused.append(refusal.reason)
            continue
        with suppress(Conflict, InvalidInput):  # it has counted before, or belongs to another aggregator
            campaigns.accept(id, [report.to_dict() for report, _ in sent])
    return refused


def check_contract(campaigns, id, device):
    """Every release states the loss of the device: not less, and no more."""
    spent = device.limit_total_epsilon - device.remaining()
    releases = campaigns.releases(id)
    assert spent > 0
    for release in releases.values():
        assert release.event.epsilon == pytest.approx(spent, rel=1e-9)
        assert release.provenance.recipe["sheets"] == 1
    return releases


def test_one_view_of_many(campaigns, device):
    campaign = open_campaign(campaigns)
    assert len(campaign.design.views) > 5
    refused = answer_everything(campaigns, campaign.id, device)
    assert len(check_contract(campaigns, campaign.id, device)) == 1
    assert set(refused) == {"campaign-answered"}


def test_a_view_of_several_questions(campaigns, device):
    campaign = open_campaign(campaigns, answers="view")
    assert len(campaign.design.views) > 1
    refused = answer_everything(campaigns, campaign.id, device)
    assert len(check_contract(campaigns, campaign.id, device)) > 1
    assert set(refused) == {"campaign-answered"}


def test_one_block_of_many(campaigns, device):
    campaign = open_campaign(campaigns, rounds=Rounds(size=1))
    refused = answer_everything(campaigns, campaign.id, device)
    (release,) = check_contract(campaigns, campaign.id, device).values()
    assert set(refused) == {"campaign-answered"}
    assert campaigns.get(campaign.id).block == 2
    assert release.provenance.recipe["respondents"] == 1


@pytest.mark.parametrize("rounds", [None, Rounds(size=1)])
def test_one_of_several_aggregators(campaigns, tmp_path, rounds):
    origins = ("https://a.example", "https://b.example")
    shares = [campaigns, Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))]
    devices = [
        Device(service=origin, ledger_path=tmp_path / "d", limit_total_epsilon=1e3, limit_question_epsilon=1e3)
        for origin in origins
    ]
    for place, each in enumerate(shares):
        open_campaign(each, id="shared", rounds=rounds, shard=(place, 2), aggregators=origins)
    for _ in range(3):  # everything that either offers, in every block
        for each, device in zip(shares, devices, strict=True):
            answer_everything(each, "shared", device)
        if rounds:
            shares[1].adopt("shared", shares[0].block("shared"))
    shares[0].merge("shared", shares[1].export("shared"))
    assert shares[0].get("shared").reports == 1
    check_contract(shares[0], "shared", devices[0])


def test_an_invited_campaign(campaigns, device):
    campaign = open_campaign(campaigns, answers="view", invited=True)
    (code,) = campaigns.invite(campaign.id, 1)
    token = buy_token(campaign.form.key, lambda blinded: campaigns.redeem(campaign.id, code, blinded))
    refused = answer_everything(campaigns, campaign.id, device, token)
    check_contract(campaigns, campaign.id, device)
    assert set(refused) == {"campaign-answered"}
