"""The contract between devices and releases: what a stock device loses is what the releases state.

In each test one respondent is the only one, so that every release is about their reports and nothing else.
"""

import itertools
import json
import math
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.channels.following import penalties, refitted_channel
from tacita.collect.channels.wiring import channel_of
from tacita.collect.device.blind import buy_token
from tacita.collect.device.device import USUAL_LIMITS, Device
from tacita.collect.device.question import Refusal
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Ordinal
from tacita.errors import Conflict, InvalidInput
from tacita.store import Database
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1", "2"]) for name in "abcd"])
ROOT = Path(__file__).parents[3]
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


def open_campaign(campaigns, *, answers="one", rounds=None, id=None, channel=None, **terms):
    design = plan_collection(
        DOMAIN,
        Workload.all(DOMAIN, 2),
        respondents=5000,
        epsilon=1.0,
        mode="tables",
        answers=answers,
        channel=channel or ("rr" if rounds else "auto"),
        penalty="squared",
        floor=0.2,
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


@pytest.mark.parametrize("answers", ["one", "view"])
def test_one_block_of_refitted_matrices(campaigns, device, answers):
    campaign = open_campaign(campaigns, rounds=Rounds(size=1, floor=0.2), channel="optimal", answers=answers)
    answer_everything(campaigns, campaign.id, device)
    assert check_contract(campaigns, campaign.id, device)
    assert campaigns.get(campaign.id).block == 2


def test_every_device_of_every_refitted_block_loses_what_its_integers_lose(campaigns, tmp_path):
    """Forty stock devices in four blocks: each ledger is the loss of its block, and releases state the largest."""
    domain = Domain(attributes=[Ordinal(name="school", levels=["none", "basic", "high", "college"])])
    design = plan_collection(
        domain, Workload.of(("school",)), respondents=40, epsilon=1.0, channel="optimal", penalty="distance", floor=0.3
    )
    created = campaigns.create(design, title="School", terms=Terms(minimum=1, rounds=Rounds(size=10, floor=0.3)))
    campaign = campaigns.open(created.id)
    spent = {}
    for number in range(40):
        device = Device(
            service="https://survey.example",
            ledger_path=tmp_path / f"ledger{number}",
            limit_total_epsilon=USUAL_LIMITS.total,
            limit_question_epsilon=USUAL_LIMITS.question,
        )
        campaign = campaigns.advance(campaign.id)
        (question,) = campaigns.sheet(campaign.id)
        ((report, _),) = device.answer_sheet([question.to_dict()], {"school": ["none", "basic"][number % 2]})
        campaigns.accept(campaign.id, [report.to_dict()])
        spent.setdefault(question.question, set()).add(device.limit_total_epsilon - device.remaining())
    assert len(spent) == 4
    tally = campaigns.tally(campaign.id)
    matrices = [asked.channel for asked, _ in tally]
    assert len(matrices) == 4
    for losses, channel in zip(spent.values(), matrices, strict=True):
        table = channel.table
        worst = max(max(column) / min(column) for column in zip(*table, strict=True))
        assert list(losses) == pytest.approx([math.log(worst)] * len(losses), abs=1e-9)
        assert channel.epsilon_upper <= 1.0
    (release,) = campaigns.releases(campaign.id).values()
    assert release.event.epsilon == pytest.approx(max(max(losses) for losses in spent.values()), rel=1e-9)
    assert release.provenance.recipe["blocks"] == 4
    assert release.provenance.recipe["respondents"] == 40
    for before, after in itertools.pairwise(range(4)):  # each matrix is fitted to the blocks before it
        learnt = Tally.counted(tally.design, {place: tally.counts(place) for place in range(after)}).releases()
        expected = refitted_channel(
            learnt["school",].values, cost=penalties(domain, "distance"), epsilon=1.0, floor=0.3
        )
        assert matrices[after] == expected, before


def test_a_block_of_another_kind_is_not_adopted(campaigns, tmp_path):
    origins = ("https://a.example", "https://b.example")
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    open_campaign(campaigns, id="s", rounds=Rounds(size=1), channel="optimal", shard=(0, 2), aggregators=origins)
    open_campaign(other, id="s", rounds=Rounds(size=1), shard=(1, 2), aggregators=origins)
    device = Device(service=origins[0], ledger_path=tmp_path / "d", limit_total_epsilon=1e3, limit_question_epsilon=1e3)
    answer_everything(campaigns, "s", device)
    assert campaigns.get("s").block == 2
    with pytest.raises(InvalidInput, match="must ask what this campaign asks"):
        other.adopt("s", campaigns.block("s"))


NODE = shutil.which("node")
_IN_JAVASCRIPT = """
import('./src/index.js').then(async ({ Device }) => {
  const { MemoryStorage } = await import('./test/storage.js');
  const questions = JSON.parse(process.argv[1]);
  const found = [];
  for (const question of questions) {
    const device = new Device({ service: 'https://survey.example', storage: new MemoryStorage(),
                                limitTotalEpsilon: 4, limitQuestionEpsilon: 2 });
    const { report } = await device.answer(question, 'basic');
    found.push({ spent: 4 - (await device.remaining()), report });
  }
  console.log(JSON.stringify(found));
});
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_javascript_device_answers_refitted_blocks(campaigns):
    domain = Domain(attributes=[Ordinal(name="school", levels=["none", "basic", "high", "college"])])
    design = plan_collection(domain, Workload.of(("school",)), respondents=40, epsilon=1.0, channel="optimal")
    created = campaigns.create(design, title="School", terms=Terms(minimum=1, rounds=Rounds(size=1)))
    campaigns.open(created.id)
    for block in range(1, 4):
        assert campaigns.advance(created.id).block == block
        (question,) = campaigns.sheet(created.id)
        done = subprocess.run(
            [NODE, "-e", _IN_JAVASCRIPT, json.dumps([question.to_dict()])],
            cwd=ROOT / "clients/js",
            capture_output=True,
            text=True,
            check=True,
        )
        (found,) = json.loads(done.stdout)
        channel = channel_of(question.channel, question.cells)
        assert found["spent"] == pytest.approx(channel.epsilon, abs=1e-9)
        assert campaigns.accept(created.id, [found["report"]]).accepted == 1


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
