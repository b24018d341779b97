"""Every channel of the registry is known everywhere, and somebody can be asked with it, from plan to estimate."""

import json
import re
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

from tacita.cli import app
from tacita.collect.analysis.findings import independence, integrity, prevalences, published
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.campaigns import Campaigns, Terms
from tacita.collect.channels.wiring import MAKERS, REGISTRY
from tacita.collect.device.channels import KINDS, ChannelKind, ChannelName
from tacita.collect.device.device import Device
from tacita.collect.device.question import Question
from tacita.collect.estimating.means import collected_means
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.sizing import half_widths
from tacita.domain import Boolean, Categorical, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.store import Database
from tacita.tables.workload import Workload
from tacita.testing.respondents import answer_campaign

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")
AGE = Numeric(name="age", bounds=(0, 100), edges=(0, 10, 20, 40, 60, 100), integer=True)
DOMAIN = Domain(attributes=(AGE,))
SHARES = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
MIDDLES = np.array([4.5, 14.5, 29.5, 49.5, 80.0])
MEANS = {"duchi", "piecewise", "hybrid"}


def test_devices_know_every_channel():
    assert list(KINDS) == list(get_args(ChannelKind)) == list(REGISTRY)
    for kind, device in KINDS.items():
        assert device.kind == kind


def test_an_owner_can_ask_for_every_channel():
    assert set(get_args(ChannelName)) == {"auto", "mixed", *MAKERS}


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_javascript_client_knows_every_channel():
    code = "import('./src/index.js').then(({ KINDS }) => console.log(JSON.stringify([...KINDS.keys()])))"
    done = subprocess.run([NODE, "-e", code], cwd=ROOT / "clients/js", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(REGISTRY)


@pytest.mark.parametrize("name", ["draw", "loss", "accept", "refuse"])
def test_vectors_hold_every_channel(name):
    cases = json.loads((ROOT / f"spec/vectors/{name}.json").read_text("utf-8"))
    channels = [case["channel"] if name == "loss" else case["question"] for case in cases]
    texts = [json.dumps(channel) for channel in channels]
    for kind in REGISTRY:
        assert sum(f'"kind": "{kind}"' in text for text in texts) >= (1 if name == "accept" else 5), kind


@pytest.mark.parametrize("command", ["create", "plan"])
def test_the_command_line_offers_every_channel(command):
    shown = CliRunner().invoke(app, ["collect", command, "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).output
    offered = re.search(r"[\[<](auto\|mixed\|[a-z|]+)[\]>]", re.sub(r"[\s│]+", "", shown))
    assert offered, shown
    assert set(offered[1].split("|")) == set(get_args(ChannelName))


@pytest.mark.parametrize("model", ["NewCampaign", "CollectionPlan"])
def test_the_interface_offers_every_channel(model):
    contract = json.loads((ROOT / "spec/openapi.json").read_text("utf-8"))
    found = contract["components"]["schemas"][model]["properties"]["channel"]
    assert found["enum"] == list(get_args(ChannelName))


@pytest.mark.parametrize("kind", REGISTRY)
def test_the_reference_and_the_schema_describe_every_channel(kind):
    wire = (ROOT / "docs/reference/wire.md").read_text("utf-8")
    for heading in ("Channels", "Loss", "Draw", "Report"):
        section = wire.split(f"## {heading}\n")[1].split("\n## ")[0]
        assert re.search(rf"^\| [^|]*`{kind}`", section, re.MULTILINE), (kind, heading)
    schema = json.loads((ROOT / "spec/wire/question.schema.json").read_text("utf-8"))
    assert {"$ref": f"#/$defs/{kind}"} in schema["properties"]["channel"]["oneOf"]
    assert schema["$defs"][kind]["properties"]["kind"] == {"const": kind}


# -- from plan to estimate -----------------------------------------------------------------------------------


def words(seed):
    """Repeatable words, for simulation."""
    source = SeededSource(seed)
    while True:
        yield from source.words(256).tolist()


def reports(question: Question, people, seed=3):
    stream = words(seed)
    for cell in people:
        answer, _ = question.channel.draw(question.cells, int(cell), stream)
        wired = list(answer) if isinstance(answer, tuple) else answer
        named = {"wire": 1, "campaign": question.campaign, "question": question.question}
        yield named | {"report": secrets.token_hex(16), "answer": wired}


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "fourier"])  # it has a test of its own
def test_somebody_can_be_asked_with_it(name, tmp_path):
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    design = plan_collection(DOMAIN, Workload.of(("age",)), respondents=3000, epsilon=1.0, channel=name)
    assert 0 < design.predict()[0].published <= 1
    campaign = campaigns.open(campaigns.create(design, title="How old are you?", terms=Terms(minimum=100)).id)
    (question,) = campaigns.sheet(campaign.id)
    assert question.channel.kind == name
    device = Device(
        service="https://survey.example",
        ledger_path=tmp_path / "ledger",
        limit_total_epsilon=2.0,
        limit_question_epsilon=1.0,
    )
    own, receipt = device.answer(question.to_dict(), {"age": "20..39"})
    assert receipt.loss <= 1.0
    people = np.random.default_rng(1).choice(5, 3000, p=SHARES)
    accepted = campaigns.accept(campaign.id, [own.to_dict(), *reports(question, people)])
    assert accepted.accepted == 3001
    assert 0 < campaigns.get(campaign.id).as_dict()["questions"][0]["one_report"] < 0.1
    tally = campaigns.tally(campaign.id)
    (mean,) = collected_means(tally)
    assert abs(mean.mean - SHARES @ MIDDLES) < 5 * mean.std
    assert 0 < mean.std < 5
    assert mean.low < mean.mean < mean.high
    assert mean.epsilon <= 1.0
    if name not in MEANS:
        release = campaigns.releases(campaign.id)[("age",)]
        low, high = release.interval(0.9999)
        assert ((low <= SHARES) & (high >= SHARES)).all()
    exported = campaigns.export(campaign.id)
    assert sum(exported["received"].values()) == 3001


def test_a_mixed_record_is_asked_for_means_and_tables(tmp_path):
    """One respondent answers one question of the record with the whole epsilon; numbers give means, the rest tables."""
    often = Ordinal(name="often", levels=("never", "sometimes", "daily"))
    height = Numeric(name="height", bounds=(100, 200), bins=20, missing=True)  # a bucket has no position: a table
    record = Domain(attributes=(AGE, often, Boolean(name="smokes"), height))
    workload = Workload.of(("age",), ("often", "smokes"), ("smokes",), ("height",))
    design = plan_collection(record, workload, respondents=8000, epsilon=1.0, channel="mixed")
    assert [asked.asks_mean for asked in design.questions] == [True, False, False, False]
    assert design.epsilon_upper <= 1.0
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    campaign = campaigns.open(campaigns.create(design, title="A record", terms=Terms(minimum=100)).id)
    rng = np.random.default_rng(4)
    people = {"age": rng.choice(5, 8000, p=SHARES), "often": rng.integers(0, 3, 8000)}
    people |= {"smokes": rng.integers(0, 2, 8000), "height": rng.integers(0, 21, 8000)}
    answer_campaign(campaigns, campaign.id, people)
    tally = campaigns.tally(campaign.id)
    (mean,) = collected_means(tally)
    assert abs(mean.mean - SHARES @ MIDDLES) < 5 * mean.std
    releases = published(tally)
    assert set(releases) == {("often", "smokes"), ("smokes",), ("height",)}
    assert np.isfinite(releases["often", "smokes"].std()).all()
    assert len(integrity(tally)) == 4
    assert sum(campaigns.get(campaign.id).received) == 8000


def test_a_mixed_record_may_split_epsilon(tmp_path):
    record = Domain(attributes=(AGE, Boolean(name="smokes")))
    workload = Workload.of(("age",), ("smokes",))
    design = plan_collection(record, workload, respondents=800, epsilon=1.0, channel="mixed", answers="view")
    assert [asked.asks_mean for asked in design.questions] == [True, False]
    assert len(design.views) == 1
    assert design.epsilon_upper <= 1.0 + 1e-9


def test_somebody_can_be_asked_for_a_parity(tmp_path):
    names = ("a", "b", "c", "d")
    record = Domain(attributes=tuple(Boolean(name=name) for name in names))
    design = plan_collection(record, Workload.all(record, 2), respondents=20_000, epsilon=1.0, channel="fourier")
    assert 0 < design.predict()[0].published < 0.2
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    campaign = campaigns.open(campaigns.create(design, title="Habits", terms=Terms(minimum=100)).id)
    (question,) = campaigns.sheet(campaign.id)
    assert (question.channel.kind, question.cells) == ("fourier", 16)
    device = Device(
        service="https://survey.example",
        ledger_path=tmp_path / "ledger",
        limit_total_epsilon=2.0,
        limit_question_epsilon=1.0,
    )
    own, _ = device.answer(question.to_dict(), dict.fromkeys(names, "true"))
    assert campaigns.accept(campaign.id, [own.to_dict()]).accepted == 1
    rng = np.random.default_rng(7)
    first = rng.random(20_000) < 0.3
    people = {"a": first, "b": first ^ (rng.random(20_000) < 0.2), "c": rng.random(20_000) < 0.6}
    people = {name: values.astype(int) for name, values in people.items()} | {"d": rng.integers(0, 2, 20_000)}
    answer_campaign(campaigns, campaign.id, people)
    tally = campaigns.tally(campaign.id)
    releases = campaigns.releases(campaign.id)
    assert set(releases) == {*Workload.all(record, 2), *((name,) for name in names)}
    truth = np.array([[0.7 * 0.8, 0.7 * 0.2], [0.3 * 0.2, 0.3 * 0.8]])
    low, high = releases["a", "b"].interval(0.9999)
    assert ((low <= truth) & (high >= truth)).all()
    assert releases["a", "b"].event.epsilon <= 1.0
    shown = published(tally)
    assert (shown["a", "b"].values >= 0).all()
    assert np.isfinite(shown["a", "b"].std()).all()
    assert set(prevalences(tally)) == {(name,) for name in names}
    assert independence(tally, Hypothesis.of("a", "b")).reject(0.01)
    assert integrity(tally)[0].reports == 20_001
    assert collected_means(tally) == []
    for how in ("modelled", "singles"):
        with pytest.raises(InvalidInput):
            published(tally, how)


def test_a_parity_needs_yes_or_no_attributes():
    record = Domain(attributes=(AGE, Boolean(name="smokes")))
    with pytest.raises(InvalidInput, match="two levels"):
        plan_collection(record, Workload.of(("age", "smokes")), respondents=100, epsilon=1.0, channel="fourier")


def test_somebody_can_be_asked_for_a_row(tmp_path):
    record = Domain(attributes=tuple(Boolean(name=name) for name in "abc"))
    workload = Workload.of(("a", "b", "c"))
    design = plan_collection(record, workload, respondents=20_000, epsilon=2.0, channel="chain", mode="tables")
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    campaign = campaigns.open(campaigns.create(design, title="Rows", terms=Terms(minimum=100)).id)
    assert {question.channel.kind for question in campaign.questions} == {"chain"}
    rng = np.random.default_rng(7)
    first = rng.random(20_000) < 0.3
    people = {"a": first, "b": first ^ (rng.random(20_000) < 0.2), "c": rng.random(20_000) < 0.6}
    answer_campaign(campaigns, campaign.id, {name: values.astype(int) for name, values in people.items()})
    pair = np.array([[0.7 * 0.8, 0.7 * 0.2], [0.3 * 0.2, 0.3 * 0.8]])
    truth = np.multiply.outer(pair, [0.4, 0.6])
    found = campaigns.releases(campaign.id)["a", "b", "c"]
    low, high = found.interval(0.9999)
    assert ((low <= truth) & (high >= truth)).all()
    assert found.event.epsilon <= 2.0
    assert np.isfinite(published(campaigns.tally(campaign.id))["a", "b", "c"].std()).all()


@pytest.mark.parametrize("name", ["rr", "unary", "hash", "hadamard", "subset", "matrix", "chain"])
def test_tables_of_pairs_are_planned_and_published_with_it(name):
    levels = ("x", "y", "z")
    record = Domain(attributes=tuple(Categorical(name=each, levels=levels) for each in "abc"))
    workload = Workload.all(record, 2)
    design = plan_collection(record, workload, respondents=3000, epsilon=2.0, channel=name, mode="tables")
    rng = np.random.default_rng(3)
    codes = {each: rng.integers(0, 3, 3000) for each in "abc"}
    tally = Tally(design).add(respond(design, codes, SeededSource(5), seed=6))
    found = published(tally)
    for release in found.values():
        assert np.isfinite(release.values).all()
        assert np.isfinite(release.std()).all()
        assert np.abs(release.values.sum() - 1) < 1e-6
    assert all(0 < size < 1 for size in half_widths(design, 3000).values())
