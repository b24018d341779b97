"""Invited campaigns: a code is traded once, a token counts once, and nothing else counts."""

import secrets

import numpy as np
import pytest

from tacita.collect.analysis import findings
from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.device.blind import buy_token, report_id
from tacita.collect.device.device import Device
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import Conflict, Forbidden, InvalidInput
from tacita.store import Database
from tacita.store.schema import invitations
from tacita.tables.workload import Workload

SMOKES = Domain(attributes=[Boolean(name="smokes")])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def campaigns(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Campaigns(Database(url))


def opened(campaigns, domain=SMOKES, answers="one", **terms):
    keys = [attribute.name for attribute in domain.attributes]
    workload = Workload.of(keys) if len(keys) < 3 else Workload.all(domain, 2)
    channel = "rr" if terms.get("rounds") else "auto"
    design = plan_collection(
        domain, workload, respondents=2000, epsilon=1.0, mode="tables", answers=answers, channel=channel
    )
    terms = Terms(**{"minimum": 1, "invited": True} | terms)
    return campaigns.open(campaigns.create(design, title="Smoking", terms=terms).id)


def token_of(campaigns, campaign, code):
    return buy_token(campaign.form.key, lambda blinded: campaigns.redeem(campaign.id, code, blinded))


def report(campaign, token, answer=1, question="q1", place=0):
    named = {"wire": 1, "campaign": campaign.id, "question": question, "report": report_id(token, place)}
    return named | {"answer": answer, "token": token}


def test_a_code_is_traded_once_and_a_token_counts_once(campaigns, tmp_path):
    campaign = opened(campaigns)
    first, second = campaigns.invite(campaign.id, 2)
    device = Device(
        service="https://survey.example", ledger_path=tmp_path / "d", limit_total_epsilon=2, limit_question_epsilon=2
    )
    sheet = [question.to_dict() for question in campaigns.sheet(campaign.id)]
    token = token_of(campaigns, campaign, first)
    ((sent, _),) = device.answer_sheet(sheet, {"smokes": "true"}, token=token)
    assert campaigns.accept(campaign.id, [sent.to_dict()]).accepted == 1
    with pytest.raises(Conflict, match="counted before"):
        campaigns.accept(campaign.id, [sent.to_dict()])
    with pytest.raises(Conflict, match="counted before"):  # the other answer under the same token
        campaigns.accept(campaign.id, [report(campaign, token, 1 - sent.answer)])
    with pytest.raises(Conflict, match="used"):
        token_of(campaigns, campaign, first)
    assert campaigns.invited(campaign.id) == {"made": 2, "used": 1}
    assert campaigns.accept(campaign.id, [report(campaign, token_of(campaigns, campaign, second))]).accepted == 1


def test_an_answer_that_was_lost_is_repeated(campaigns):
    campaign = opened(campaigns)
    (code,) = campaigns.invite(campaign.id, 1)
    blinded = secrets.token_bytes(256)
    blinded = b"\0" + blinded[1:]
    assert campaigns.redeem(campaign.id, f" {code.upper()} ", blinded) == campaigns.redeem(campaign.id, code, blinded)
    with pytest.raises(Forbidden, match="code"):
        campaigns.redeem(campaign.id, code[:-1], blinded)
    with pytest.raises(InvalidInput, match="blinded"):
        campaigns.redeem(campaign.id, code, b"short")


def test_what_is_not_named_by_a_token_of_the_campaign_is_refused(campaigns):
    campaign, other = opened(campaigns), opened(campaigns)
    code, another = campaigns.invite(campaign.id, 1)[0], campaigns.invite(other.id, 1)[0]
    token, foreign = token_of(campaigns, campaign, code), token_of(campaigns, other, another)
    good = report(campaign, token)
    without = {name: value for name, value in good.items() if name != "token"}
    forged = report(campaign, secrets.token_hex(320))
    wrong = [
        without,
        good | {"token": None},
        good | {"token": token[:-2]},
        good | {"token": token.upper()},
        good | {"report": secrets.token_hex(16)},
        report(campaign, token, place=1),
        report(campaign, foreign),
        forged,
    ]
    for each in wrong:
        with pytest.raises(InvalidInput):
            campaigns.accept(campaign.id, [each])
        with pytest.raises(InvalidInput):
            campaigns.accept(campaign.id, [good, each])
    with pytest.raises(InvalidInput, match="JSON"):
        campaigns.parse(campaign.id, b"TCR1\x02q1" + bytes(20))
    assert campaigns.get(campaign.id).reports == 0
    open_one = opened(campaigns, invited=False)
    with pytest.raises(InvalidInput, match="token"):
        campaigns.accept(open_one.id, [report(open_one, token)])


def test_a_token_moves_one_sheet_whatever_views_and_blocks_it_answers(campaigns):
    four = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in "abcd"])
    campaign = opened(campaigns, four, rounds=Rounds(size=1))
    (code,) = campaigns.invite(campaign.id, 1)
    token = token_of(campaigns, campaign, code)
    tried = [question.question for question in campaign.questions]
    assert len(tried) > 4
    counted = 0
    for question in [*tried, "q1.2"]:
        try:
            counted += campaigns.accept(campaign.id, [report(campaign, token, 0, question)]).accepted
        except Conflict:
            continue
    assert counted == 1


def test_a_flood_of_forged_reports_moves_nothing(campaigns):
    """10**5 reports that were never signed, in batches, each with an id that fits its token."""
    campaign = opened(campaigns)
    codes = campaigns.invite(campaign.id, 30)
    honest = [report(campaign, token_of(campaigns, campaign, code), 0) for code in codes]
    campaigns.accept(campaign.id, honest)
    before = campaigns.releases(campaign.id)["smokes",].values
    signature = honest[0]["token"][128:]
    sent = 0
    for _ in range(100):
        messages = [secrets.token_hex(64) for _ in range(1000)]
        batch = [report(campaign, message + signature, 1) for message in messages]
        sent += len(batch)
        with pytest.raises(InvalidInput, match="signed"):
            campaigns.accept(campaign.id, batch)
        with pytest.raises(InvalidInput, match="signed"):  # beside a report that counts
            campaigns.accept(campaign.id, [honest[0], *batch[:1]])
    assert sent == 100_000
    assert campaigns.get(campaign.id).reports == 30
    assert np.array_equal(campaigns.releases(campaign.id)["smokes",].values, before)


def test_every_release_states_what_one_sender_can_move(tmp_path):
    campaigns = Campaigns(Database(f"sqlite:///{tmp_path}/s.db"), reports_a_minute=6000)
    for invited in (True, False):
        campaign = opened(campaigns, invited=invited)
        if invited:
            codes = campaigns.invite(campaign.id, 20)
            batch = [report(campaign, token_of(campaigns, campaign, code), 0) for code in codes]
        else:
            named = {"wire": 1, "campaign": campaign.id, "question": "q1"}
            batch = [named | {"report": secrets.token_hex(16), "answer": 0} for _ in range(20)]
        campaigns.accept(campaign.id, batch)
        release = campaigns.releases(campaign.id)["smokes",]
        found = release.provenance.recipe["influence"]
        # one further report, the other way
        if not invited:
            campaigns.accept(campaign.id, [batch[0] | {"report": "0" * 32, "answer": 1}])
            after = campaigns.releases(campaign.id)["smokes",]
            moved = abs(after.values - release.values).max()
            assert moved == pytest.approx(found["one_report"], rel=1e-9)
            flood = [batch[0] | {"report": secrets.token_hex(16), "answer": 1} for _ in range(6000)]
            campaigns.accept(campaign.id, flood)
            moved = abs(campaigns.releases(campaign.id)["smokes",].values - after.values).max()
            limit = after.provenance.recipe["influence"]["one_minute"]
            assert 0.9 * limit < moved <= limit
        assert (found["participation"], found["one_sender"]) == (
            ("invited", found["one_report"]) if invited else ("open", None)
        )
        status = campaigns.get(campaign.id).as_dict()
        assert status["participation"] == ("invited" if invited else "open")
        assert status["questions"][0]["one_report"] <= found["one_report"]


def test_nothing_is_stored_that_links_a_code_to_a_token(campaigns):
    campaign = opened(campaigns)
    (code,) = campaigns.invite(campaign.id, 1)
    sent = []

    def redeem(blinded):
        sent.append(blinded)
        return campaigns.redeem(campaign.id, code, blinded)

    token = buy_token(campaign.form.key, redeem)
    with campaigns._database.snapshot() as connection:
        (row,) = connection.execute(invitations.select()).all()
    assert set(row._mapping) == {"campaign", "code", "blinded"}
    held = bytes(row.code) + bytes(row.blinded)
    assert code.encode() not in held
    assert token not in held.hex()
    assert sent[0].hex() not in token


def test_codes_are_for_invited_campaigns_that_are_open(campaigns):
    everyone = opened(campaigns, invited=False)
    with pytest.raises(Conflict, match="open to everyone"):
        campaigns.invite(everyone.id, 1)
    with pytest.raises(Conflict, match="open to everyone"):
        campaigns.redeem(everyone.id, "x", b"\1" * 256)
    campaign = opened(campaigns)
    (code,) = campaigns.invite(campaign.id, 1)
    for count in (0, 100_001, True, 1.5):
        with pytest.raises(InvalidInput, match="count"):
            campaigns.invite(campaign.id, count)
    campaigns.close(campaign.id)
    with pytest.raises(Conflict, match="closed"):
        campaigns.redeem(campaign.id, code, b"\0" + b"\1" * 255)
    with pytest.raises(InvalidInput, match="one aggregator"):
        Terms(invited=True, shard=(0, 2), aggregators=("https://a.example", "https://b.example"))


def test_nothing_is_merged_into_an_invited_campaign(campaigns):
    """What another aggregator counted has no tokens of this campaign."""
    campaign = opened(campaigns)
    with pytest.raises(Conflict, match="token"):
        campaigns.merge(campaign.id, campaigns.export(campaign.id))


def test_derived_tables_state_no_bound_for_one_sender(campaigns):
    domain = Domain(attributes=[*SMOKES.attributes, Boolean(name="town")])
    campaign = opened(campaigns, domain=domain)
    codes = campaigns.invite(campaign.id, 20)
    question = campaigns.get(campaign.id).design.questions[0]
    sheet = [report(campaign, token_of(campaigns, campaign, code), 0) for code in codes]
    campaigns.accept(campaign.id, sheet)
    tally = campaigns.tally(campaign.id)
    raw = findings.published(tally, "raw")[question.attributes]
    assert raw.provenance.recipe["influence"]["one_report"] > 0
    for derived in (findings.published(tally, "consistent")[question.attributes], raw.derived()):
        assert derived.provenance.recipe["influence"]["participation"] == "invited"
        assert derived.provenance.recipe["influence"]["one_report"] is None
        assert derived.provenance.recipe["influence"]["one_sender"] is None
