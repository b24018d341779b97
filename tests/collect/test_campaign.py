import secrets

import numpy as np
import pytest

from tacita.collect.campaign import MOST_REPORTS, Campaigns
from tacita.collect.client import Device
from tacita.collect.question import Question, Refusal
from tacita.domain import Categorical, Identifier, Numeric
from tacita.errors import Conflict, InvalidInput, NotPublic, UnknownName
from tacita.noise import SeededSource
from tacita.release import Release
from tacita.store import Database

SMOKES = Categorical(name="smokes", levels=["never", "sometimes", "daily"])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def campaigns(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Campaigns(Database(url))


@pytest.fixture
def campaign(campaigns):
    return campaigns.create(attribute=SMOKES, epsilon=1.0, title="Smoking", minimum=3)


def reports(campaign, answers):
    return [
        {
            "wire": 1,
            "campaign": campaign.id,
            "question": "q1",
            "report": secrets.token_hex(16),
            "answer": int(y),
        }
        for y in answers
    ]


def test_real_clients_can_answer(campaigns, campaign, tmp_path):
    for n in range(3):
        device = Device(ledger_path=tmp_path / f"{n}.json", limit_total_epsilon=2.0, limit_question_epsilon=1.0)
        report, receipt = device.answer(campaign.question, "daily")
        assert receipt.loss <= 1.0
        campaigns.accept(campaign.id, [report.to_dict()])
    assert campaigns.get(campaign.id).received == 3
    assert campaigns.release(campaign.id).trust == "local"


def test_estimate_covers_the_truth(campaigns):
    campaign = campaigns.create(attribute=SMOKES, epsilon=2.0, title="Smoking")
    truth = np.repeat(np.arange(3, dtype=np.uint8), [6000, 3000, 1000])
    answers = campaign.channel.randomize(truth, SeededSource(4))
    for start in range(0, 10_000, 2500):
        campaigns.accept(campaign.id, reports(campaign, answers[start : start + 2500]))
    release = campaigns.release(campaign.id, about="respondents")
    low, high = release.interval(0.999)
    assert ((low <= [0.6, 0.3, 0.1]) & (high >= [0.6, 0.3, 0.1])).all()
    assert release.values.sum() == pytest.approx(1)
    assert release.event.epsilon <= 2.0
    again = Release.from_json(release.to_json())
    assert np.array_equal(again.interval(0.9)[0], release.interval(0.9)[0])
    wider = campaigns.release(campaign.id, about="population")
    assert (wider.std() > release.std()).all()  # sampling people adds to the channel's error


def test_a_report_counts_once(campaigns, campaign):
    batch = reports(campaign, [0, 1, 2])
    assert campaigns.accept(campaign.id, batch).accepted == 3
    more = reports(campaign, [1])
    mixed = campaigns.accept(campaign.id, batch[:1] + more)
    assert (mixed.accepted, mixed.replayed) == (1, (batch[0]["report"],))
    with pytest.raises(Conflict, match="has counted before"):
        campaigns.accept(campaign.id, batch)
    twice = reports(campaign, [2])
    within = campaigns.accept(campaign.id, twice * 2)
    assert (within.accepted, within.replayed) == (1, (twice[0]["report"],))
    assert campaigns.get(campaign.id).received == 5


def test_all_or_nothing(campaigns, campaign):
    batch = reports(campaign, [0, 1])
    batch[1]["answer"] = 7
    with pytest.raises(InvalidInput, match=r"reports\[1\]\.answer"):
        campaigns.accept(campaign.id, batch)
    assert campaigns.get(campaign.id).received == 0
    assert campaigns.accept(campaign.id, batch[:1]).accepted == 1


def test_a_question_is_verified_once(campaigns, campaign, monkeypatch):
    campaigns.accept(campaign.id, reports(campaign, [0]))
    monkeypatch.setattr(Question, "__post_init__", lambda self: pytest.fail("it was verified again"))
    campaigns.accept(campaign.id, reports(campaign, [0, 1]))
    assert campaigns.question(campaign.id) == campaign.question


def test_a_kept_question_does_not_outlive_its_campaign(campaigns, campaign):
    """Closing is seen at once, also by those who have kept the question: it is checked where reports are counted."""
    elsewhere = Campaigns(campaigns._database)
    elsewhere.accept(campaign.id, reports(campaign, [0]))
    campaigns.close(campaign.id)
    with pytest.raises(Conflict, match="closed"):
        elsewhere.accept(campaign.id, reports(campaign, [0]))


def test_questions_are_not_kept_without_end(campaigns):
    for _ in range(3):
        with pytest.raises(UnknownName):
            campaigns.question("cp_none")  # what does not exist is not kept
    assert campaigns._questions.cache_info().currsize == 0
    assert campaigns._questions.cache_info().maxsize == 64


def test_a_campaign_with_a_deceiving_text_is_refused(campaigns):
    with pytest.raises(Refusal, match="a screen shows"):
        campaigns.create(attribute=Categorical(name="x", levels=["yes", "yes\u200b"]), epsilon=1.0, title="x")


def test_closing(campaigns, campaign):
    campaigns.accept(campaign.id, reports(campaign, [0]))
    assert campaigns.close(campaign.id).state == "closed"
    assert campaigns.close(campaign.id).closed is not None
    with pytest.raises(Conflict, match="closed"):
        campaigns.accept(campaign.id, reports(campaign, [0]))


def test_nothing_is_published_too_early(campaigns, campaign):
    campaigns.accept(campaign.id, reports(campaign, [0, 0]))
    with pytest.raises(Conflict, match="publishes from 3"):
        campaigns.release(campaign.id)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"wire": 2}, "wire"),
        ({"question": "q2"}, "question"),
        ({"report": "XYZ"}, "report"),
        ({"answer": -1}, "answer"),
        ({"answer": True}, "answer"),
        ({"answer": "0"}, "answer"),
        ({"truth": 1}, "members"),
        ({"campaign": "cp_other"}, "question"),
    ],
)
def test_malformed_reports(campaigns, campaign, change, says):
    with pytest.raises(InvalidInput, match=says):
        campaigns.accept(campaign.id, [reports(campaign, [0])[0] | change])


def test_batch_sizes(campaigns, campaign):
    for batch in ([], [{}] * (MOST_REPORTS + 1)):
        with pytest.raises(InvalidInput, match="reports"):
            campaigns.accept(campaign.id, batch)


def test_unknown_campaign(campaigns):
    with pytest.raises(UnknownName, match="campaign"):
        campaigns.accept("cp_none", [{}])


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), 100])
def test_bad_epsilon(campaigns, epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        campaigns.create(attribute=SMOKES, epsilon=epsilon, title="x")


def test_bad_attributes(campaigns):
    with pytest.raises(InvalidInput, match="identifier"):
        campaigns.create(attribute=Identifier(name="id"), epsilon=1.0, title="x")
    with pytest.raises(NotPublic):
        campaigns.create(
            attribute=Numeric(name="a", bounds=(0, 9), bins=3, derived=("bounds",)), epsilon=1.0, title="x"
        )
    with pytest.raises(InvalidInput, match="minimum"):
        campaigns.create(attribute=SMOKES, epsilon=1.0, title="x", minimum=0)


def test_listing(campaigns, campaign):
    assert [c.id for c in campaigns.list()] == [campaign.id]
    assert campaign.as_dict()["question"]["levels"] == list(SMOKES.levels)
