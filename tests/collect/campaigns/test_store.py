"""Campaigns from draft to tables, through real devices."""

import datetime as dt
import secrets
from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.wiring import pack_answer, wire_of
from tacita.collect.device.device import Device
from tacita.collect.device.question import Question, Refusal
from tacita.collect.estimating.tally import respond
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.sizing import respondents_planned
from tacita.collect.planning.stopping import StopRule
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import Conflict, InvalidInput, NotPublic, TacitaError, UnknownName
from tacita.noise import SeededSource
from tacita.store import Database
from tacita.store import clock as clock_module
from tacita.store.schema import kept_reports
from tacita.tables.release import Releases
from tacita.tables.workload import Workload
from tacita.testing.respondents import answer_campaign

DOMAIN = Domain(
    attributes=[
        Categorical(name="smokes", levels=["never", "sometimes", "daily"]),
        Categorical(name="sex", levels=["f", "m"]),
        Categorical(name="town", levels=[f"t{i}" for i in range(50)]),
    ]
)
ORIGINS = ("https://a.example", "https://b.example")
PAIR = Workload.of(["smokes", "sex"])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def campaigns(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Campaigns(Database(url))


def plan(workload=PAIR, **options):
    options = {"respondents": 5000, "epsilon": 2.0, "mode": "tables", "channel": "rr"} | options
    return plan_collection(DOMAIN, workload, **options)


def opened(campaigns, design=None, **terms):
    terms = {"minimum": 3} | terms
    return campaigns.open(campaigns.create(design or plan(), title="Health", terms=Terms(**terms)).id)


def reports(campaign, answers, question="q1"):
    members = {"wire": 1, "campaign": campaign.id, "question": question}
    return [members | {"report": secrets.token_hex(16), "answer": answer} for answer in answers]


def people(count, seed=0):
    """Who smokes daily is a man more often."""
    rng = np.random.default_rng(seed)
    smokes = rng.choice(3, count, p=[0.6, 0.3, 0.1])
    sex = (rng.random(count) < np.array([0.4, 0.5, 0.9])[smokes]).astype(int)
    return {"smokes": smokes, "sex": sex, "town": rng.integers(0, 50, count)}


def answer_all(campaigns, id, codes, tmp_path, *, epsilon=2.0):
    """Every person with a device of their own; only reports pass from here to the campaign."""
    for number in range(len(codes["smokes"])):
        device = Device(
            service="https://survey.example",
            ledger_path=tmp_path / f"{number}.json",
            limit_total_epsilon=epsilon,
            limit_question_epsilon=epsilon,
        )
        value = {a.name: a.levels[codes[a.name][number]] for a in DOMAIN.attributes}
        sent = device.answer_sheet([q.to_dict() for q in campaigns.sheet(id)], value)
        campaigns.accept(id, [report.to_dict() for report, _ in sent])


# -- life of a campaign ----------------------------------------------------------------------------------------------


def test_nobody_is_asked_before_it_opens_and_nobody_after_it_closes(campaigns):
    campaign = campaigns.create(plan(), title="Health")
    assert campaign.state == "draft"
    with pytest.raises(Conflict, match="not open yet"):
        campaigns.sheet(campaign.id)
    with pytest.raises(Conflict, match="not open yet"):
        campaigns.accept(campaign.id, reports(campaign, [0]))
    assert campaigns.open(campaign.id).state == "open"
    assert campaigns.open(campaign.id).state == "open"
    campaigns.accept(campaign.id, reports(campaign, [0]))
    closed = campaigns.close(campaign.id)
    assert (closed.state, closed.reason) == ("closed", "closed by its owner")
    assert campaigns.close(campaign.id, "again").reason == closed.reason
    for call in (campaigns.sheet, campaigns.open):
        with pytest.raises(Conflict, match="closed"):
            call(campaign.id)
    with pytest.raises(Conflict, match="closed"):
        campaigns.accept(campaign.id, reports(campaign, [0]))
    assert campaigns.get(campaign.id).reports == 1


def test_what_one_process_keeps_does_not_outlive_a_closing_by_another(campaigns):
    campaign = opened(campaigns)
    elsewhere = Campaigns(campaigns._database)
    elsewhere.accept(campaign.id, reports(campaign, [0]))
    campaigns.close(campaign.id)
    with pytest.raises(Conflict, match="closed"):
        elsewhere.accept(campaign.id, reports(campaign, [0]))


def test_time_closes_it(campaigns, monkeypatch):
    start = clock_module.now()
    campaign = opened(campaigns, closes=start + dt.timedelta(hours=1))
    campaigns.accept(campaign.id, reports(campaign, [0]))
    for module in ("tacita.collect.campaigns.store",):
        monkeypatch.setattr(f"{module}.now", lambda: start + dt.timedelta(hours=2))
    with pytest.raises(Conflict, match="closed"):
        campaigns.accept(campaign.id, reports(campaign, [0]))
    assert campaigns.get(campaign.id).reason == "its time is up"


def test_devices_answer_what_the_lot_gives_them(campaigns, tmp_path):
    campaign = opened(campaigns, plan(Workload.all(DOMAIN, 2), epsilon=1.0, channel="auto"))
    answer_all(campaigns, campaign.id, people(60), tmp_path)
    found = campaigns.get(campaign.id)
    assert found.reports == 60
    assert sum(n > 0 for n in found.received) >= 3
    kinds = {question["channel"] for question in found.as_dict()["questions"]}
    assert len(kinds) >= 3  # several channels went over the wire
    for release in campaigns.releases(campaign.id).values():
        assert (release.trust, release.quantity) == ("local", "share")
        assert release.event.epsilon <= 2.0


def test_the_lot_follows_the_shares(campaigns):
    campaign = opened(campaigns)
    shares = {q.question: a.share for q, a in zip(campaign.questions, campaign.design.questions, strict=True)}
    drawn = [campaigns.sheet(campaign.id)[0].question for _ in range(400)]
    for name, share in shares.items():
        assert abs(drawn.count(name) / 400 - share) < 5 * np.sqrt(share * (1 - share) / 400)


@pytest.mark.parametrize("channel", ["rr", "auto"])
def test_tables_cover_the_truth(campaigns, channel):
    """In bulk, through the same channels, in JSON for half of the reports and packed for the other half."""
    design = plan(Workload.of(["smokes", "sex"], ["town"]), respondents=20_000, channel=channel)
    campaign = opened(campaigns, design)
    codes = people(20_000)
    sent = respond(campaign.design, codes, SeededSource(3), seed=5)
    for number, batch in sent.by_question.items():
        question = campaign.questions[number]
        rows = [_wire_answer(question, row) for row in batch]
        half = len(rows) // 2
        for start in range(0, half, 5000):
            campaigns.accept(campaign.id, reports(campaign, rows[start : min(start + 5000, half)], question.question))
        packed = b"".join(
            secrets.token_bytes(16) + pack_answer(question.channel, question.cells, row) for row in rows[half:]
        )
        name = question.question.encode()
        campaigns.accept_all([campaigns.parse(campaign.id, b"TCR1" + bytes([len(name)]) + name + packed)])
    assert campaigns.get(campaign.id).reports == 20_000
    release = campaigns.releases(campaign.id)["smokes", "sex"]
    truth = np.zeros((3, 2))
    np.add.at(truth, (codes["smokes"], codes["sex"]), 1 / 20_000)
    low, high = release.interval(0.9999)
    assert ((low <= truth) & (truth <= high)).all()
    assert not release.provenance.simulated
    again = Releases.from_json(campaigns.releases(campaign.id).to_json())
    assert np.array_equal(again["smokes", "sex"].values, release.values)


def _wire_answer(question, row):
    match question.channel.kind:
        case "unary" | "subset":
            return bytes(row).hex()
        case "hash":
            return [int(part) for part in row]
    return int(row)


# -- counting --------------------------------------------------------------------------------------------------------


def test_a_report_counts_once(campaigns):
    campaign = opened(campaigns)
    batch = reports(campaign, [0, 1, 2])
    assert campaigns.accept(campaign.id, batch).accepted == 3
    mixed = campaigns.accept(campaign.id, batch[:1] + reports(campaign, [1]))
    assert (mixed.accepted, mixed.replayed) == (1, (batch[0]["report"],))
    with pytest.raises(Conflict, match="has counted before"):
        campaigns.accept(campaign.id, batch)
    twice = reports(campaign, [2])
    within = campaigns.accept(campaign.id, twice * 2)
    assert (within.accepted, within.replayed) == (1, (twice[0]["report"],))
    # under the id of another question it is still the same report
    moved = [report | {"question": "q2", "answer": 0} for report in twice]
    with pytest.raises(Conflict, match="has counted before"):
        campaigns.accept(campaign.id, moved)
    assert campaigns.get(campaign.id).reports == 5


def test_batches_that_are_written_together_are_judged_apart(campaigns):
    campaign, other = opened(campaigns), opened(campaigns)
    one, two, three = reports(campaign, [0, 1]), reports(campaign, [1]), reports(other, [2])
    campaigns.close(other.id)
    parsed = [campaigns.parse(campaign.id, batch) for batch in (one, two, one, one[:1] + reports(campaign, [3]))]
    outcomes = campaigns.accept_all([*parsed, campaigns.parse(other.id, three)])
    assert [getattr(outcome, "accepted", type(outcome)) for outcome in outcomes] == [2, 1, Conflict, 1, Conflict]
    assert campaigns.get(campaign.id).reports == 4


def test_all_or_nothing(campaigns):
    campaign = opened(campaigns)
    batch = reports(campaign, [0, 1])
    batch[1]["answer"] = 7
    with pytest.raises(InvalidInput, match=r"reports\[1\]\.answer"):
        campaigns.accept(campaign.id, batch)
    assert campaigns.get(campaign.id).reports == 0
    assert campaigns.accept(campaign.id, batch[:1]).accepted == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"wire": 2}, "wire"),
        ({"wire": True}, "wire"),
        ({"question": "q99"}, "question"),
        ({"question": 1}, "question"),
        ({"report": "XYZ"}, "report"),
        ({"report": "A" * 32}, "report"),
        ({"report": 5}, "report"),
        ({"answer": -1}, "answer"),
        ({"answer": True}, "answer"),
        ({"answer": "0"}, "answer"),
        ({"answer": 1.0}, "answer"),
        ({"answer": None}, "answer"),
        ({"truth": 1}, "members"),
        ({"campaign": "cp_other"}, "question"),
    ],
)
def test_malformed_reports(campaigns, change, says):
    campaign = opened(campaigns)
    batch = reports(campaign, [0, 1])
    batch[1] |= change
    with pytest.raises(InvalidInput, match=says) as caught:
        campaigns.accept(campaign.id, batch)
    assert caught.value.field.startswith("reports[1]")
    assert caught.value.value is None  # it may be somebody's answer
    assert campaigns.get(campaign.id).reports == 0


@pytest.mark.parametrize("batch", [["x"], [None], [[]], [{"report": "0" * 32}]])
def test_things_that_are_no_reports(campaigns, batch):
    campaign = opened(campaigns)
    with pytest.raises(InvalidInput, match="reports"):
        campaigns.accept(campaign.id, batch)


@pytest.mark.parametrize(
    "data", [b"", b"TCR1", b"TCR2\x02q1", b"TCR1\x02q9" + bytes(20), b"TCR1\x02q1" + bytes(19), b"TCR1\x02q1"]
)
def test_malformed_packed_batches(campaigns, data):
    campaign = opened(campaigns)
    with pytest.raises(InvalidInput):
        campaigns.parse(campaign.id, data)


def test_packed_answers_are_checked(campaigns):
    campaign = opened(campaigns)
    with pytest.raises(InvalidInput, match="must be below 6"):
        campaigns.parse(campaign.id, b"TCR1\x02q1" + bytes(16) + (6).to_bytes(4, "little"))


def test_reports_are_forgotten_unless_the_owner_asked(campaigns):
    for keep in (False, True):
        campaign = opened(campaigns, keep_reports=keep)
        campaigns.accept(campaign.id, reports(campaign, [4]))
        with campaigns._database.reading() as connection:
            kept = connection.execute(kept_reports.select()).all()
        assert len(kept) == int(keep)
    assert '"answer": 4' in kept[0].kept


def test_nothing_is_published_too_early(campaigns):
    campaign = opened(campaigns)
    campaigns.accept(campaign.id, reports(campaign, [0, 0]))
    with pytest.raises(Conflict, match="publishes a table from 3"):
        campaigns.releases(campaign.id)


def test_questions_are_verified_once(campaigns, monkeypatch):
    campaign = opened(campaigns)
    campaigns.accept(campaign.id, reports(campaign, [0]))
    monkeypatch.setattr(Question, "__post_init__", lambda self: pytest.fail("it was verified again"))
    campaigns.accept(campaign.id, reports(campaign, [0, 1]))
    campaigns.sheet(campaign.id)


def test_forms_are_not_kept_without_end(campaigns, monkeypatch):
    monkeypatch.setattr("tacita.collect.campaigns.store._KEPT", 2)
    found = [opened(campaigns) for _ in range(4)]
    assert len(campaigns._forms) <= 2
    campaigns.accept(found[0].id, reports(found[0], [0]))


# -- blocks ----------------------------------------------------------------------------------------------------------


def test_blocks_pool_and_keep_the_promise(campaigns):
    campaign = opened(campaigns, plan(respondents=3000), rounds=Rounds(size=1000, floor=0.4))
    codes = people(3000)
    for block in range(3):
        now = campaigns.get(campaign.id)
        assert now.block == block + 1
        current = [number for number, asked in enumerate(now.design.questions) if asked.block == now.block]
        part = {name: column[block * 1000 : (block + 1) * 1000] for name, column in codes.items()}
        design = replace(
            now.design, questions=tuple(replace(now.design.questions[n], block=1) for n in current), views=()
        )
        sent = respond(design, part, SeededSource(block), seed=block)
        for place, batch in sent.by_question.items():
            name = now.questions[current[place]].question
            campaigns.accept(campaign.id, reports(now, [int(y) for y in batch], name))
    found = campaigns.get(campaign.id)
    assert (found.block, found.reports) == (4, 3000)
    fakes = [asked.channel.fake for asked in found.design.questions if asked.attributes == ("smokes", "sex")]
    assert len(set(fakes[0])) == 1  # begins uniform
    assert len(set(fakes[-1])) > 1  # and follows what was learnt
    assert all(asked.channel.epsilon_upper <= 2.0 for asked in found.design.questions)
    release = campaigns.releases(campaign.id)["smokes", "sex"]
    assert release.provenance.recipe["blocks"] == 3
    truth = np.zeros((3, 2))
    np.add.at(truth, (codes["smokes"], codes["sex"]), 1 / 3000)
    low, high = release.interval(0.9999)
    assert ((low <= truth) & (truth <= high)).all()


def test_a_late_report_counts_in_its_own_block(campaigns):
    campaign = opened(campaigns, rounds=Rounds(size=10))
    campaigns.accept(campaign.id, reports(campaign, [0, 1, 2, 3, 4, 5] * 2))
    assert campaigns.get(campaign.id).block == 2
    elsewhere = Campaigns(campaigns._database)
    elsewhere.parse(campaign.id, reports(campaign, [0]))
    campaigns.accept(campaign.id, reports(campaign, [3]))  # to q1, of block 1
    found = campaigns.get(campaign.id)
    assert found.received[0] == 13
    assert {question.question for question in campaigns.sheet(campaign.id)} <= {"q1.2", "q2.2", "q3.2"}
    assert elsewhere.accept(campaign.id, reports(campaign, [0], "q1.2")).accepted == 1  # has kept block 1 only


def test_a_block_does_not_wait_for_ever(campaigns, monkeypatch):
    campaign = opened(campaigns, rounds=Rounds(size=1000, seconds=60))
    later = clock_module.now() + dt.timedelta(seconds=61)
    monkeypatch.setattr("tacita.collect.campaigns.store.now", lambda: later)
    assert campaigns.advance(campaign.id).block == 1  # nobody has answered yet
    campaigns.accept(campaign.id, reports(campaign, [0]))
    assert campaigns.advance(campaign.id).block == 2
    assert campaigns.advance(campaign.id).block == 2


def test_two_processes_do_not_open_a_block_twice(campaigns):
    campaign = opened(campaigns, rounds=Rounds(size=4))
    others = [Campaigns(campaigns._database) for _ in range(3)]
    batch = [other.parse(campaign.id, reports(campaign, [0, 1])) for other in others]
    for other, one in zip(others, batch, strict=True):
        other.accept_all([one])
    for other in others:
        assert other.advance(campaign.id).block == 2


def test_rounds_need_fakes(campaigns):
    design = plan()
    other = HadamardResponse.of(levels=6, epsilon=2.0)
    asked = (replace(design.questions[0], channel=other), *design.questions[1:])
    with pytest.raises(InvalidInput, match="HadamardResponse"):
        campaigns.create(replace(design, questions=asked), title="x", terms=Terms(rounds=Rounds(size=10)))


# -- enough ----------------------------------------------------------------------------------------------------------


def test_it_closes_when_it_is_accurate_enough(campaigns):
    design = plan(Workload.of(["sex"]), epsilon=4.0)
    campaign = opened(campaigns, design, minimum=200, raised_limits=True, stop=StopRule(half_width=0.05, level=0.95))
    rng = np.random.default_rng(1)
    for _ in range(40):
        if campaigns.get(campaign.id).state == "closed":
            break
        campaigns.accept(campaign.id, reports(campaign, [int(y) for y in rng.integers(0, 2, 100)]))
    found = campaigns.get(campaign.id)
    assert (found.state, found.reason) == ("closed", "accurate enough")
    assert 400 <= found.reports <= 3200
    low, high = campaigns.releases(campaign.id)["sex",].interval(0.95)
    assert (high - low).max() / 2 <= 0.05


def test_it_closes_near_the_number_that_was_planned(campaigns):
    """Helper questions are not waited for, and looks are planned around the planner's own number."""
    design = plan(channel="auto")
    planned = respondents_planned(design, StopRule(half_width=0.1))
    campaign = opened(campaigns, design, stop=StopRule(half_width=0.1))
    assert campaign.terms.stop.planned == planned
    assert campaign.terms.stop.tables == (("smokes", "sex"),)
    assert len(design.questions) == 3
    for number in range(20):
        try:
            answer_campaign(campaigns, campaign.id, people(planned // 10, seed=number), seed=number)
        except Conflict:  # it closed between two questions
            break
    found = campaigns.get(campaign.id)
    assert found.reason == "accurate enough"
    assert 0.5 * planned <= found.respondents <= 1.5 * planned


# -- views -----------------------------------------------------------------------------------------------------------


def test_a_view_shares_the_budget(campaigns, tmp_path):
    four = Domain(attributes=[Categorical(name=n, levels=["0", "1"]) for n in "abcd"])
    design = plan_collection(four, Workload.all(four, 2), respondents=100, epsilon=2.0, answers="view")
    campaign = campaigns.open(campaigns.create(design, title="x", terms=Terms(minimum=1)).id)
    sheet = campaigns.sheet(campaign.id)
    assert len(sheet) == 2
    assert sum(question.charge for question in sheet) <= 2.0 * (1 + 1e-12)
    assert not set(sheet[0].attributes) & set(sheet[1].attributes)
    device = Device(
        service="https://survey.example",
        ledger_path=tmp_path / "d",
        limit_total_epsilon=2.0,
        limit_question_epsilon=2.0,
    )
    sent = device.answer_sheet(sheet, dict.fromkeys("abcd", "1"))
    assert campaigns.accept(campaign.id, [report.to_dict() for report, _ in sent]).accepted == 2
    for release in campaigns.releases(campaign.id).values():
        assert release.event.epsilon == pytest.approx(2.0)  # whoever stands in it has answered the other one too


# -- several aggregators ---------------------------------------------------------------------------------------------


def test_two_aggregators_count_as_one(campaigns, tmp_path):
    campaign = opened(campaigns)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open(other.create(campaign.design, title="Health", id=campaign.id).id)
    campaigns.accept(campaign.id, reports(campaign, [0, 1, 2]))
    other.accept(campaign.id, reports(campaign, [3, 4, 5, 5]))
    merged = campaigns.merge(campaign.id, other.export(campaign.id))
    assert merged.received == (7, 0, 0)
    with pytest.raises(Conflict, match="counted here already"):
        campaigns.merge(campaign.id, other.export(campaign.id))
    assert campaigns.get(campaign.id).reports == 7


@pytest.mark.parametrize(
    "change",
    [
        {"tacita": "tally/2"},
        {"campaign": "cp_other"},
        {"questions": {"q1": "0"}},
        {"counts": {"q1": [1, 2]}},
        {"counts": {"q1": [9, 0, 0, 0, 0, 0]}},
        {"counts": {"q1": [-1, 1, 1, 1, 0, 0]}},
        {"counts": {"q9": [1]}},
        {"reports": []},
        {"reports": ["x" * 32, "y" * 32]},
    ],
)
def test_what_cannot_be_merged(campaigns, tmp_path, change):
    campaign = opened(campaigns)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open(other.create(campaign.design, title="Health", id=campaign.id).id)
    other.accept(campaign.id, reports(campaign, [3, 4]))
    with pytest.raises(InvalidInput, match=r"tally|counts"):
        campaigns.merge(campaign.id, other.export(campaign.id) | change)
    assert campaigns.get(campaign.id).reports == 0


# -- what is refused -------------------------------------------------------------------------------------------------


def test_an_unknown_campaign(campaigns):
    for call in (campaigns.get, campaigns.sheet, campaigns.close, campaigns.open, campaigns.releases):
        with pytest.raises(UnknownName, match="campaign"):
            call("cp_none")
    with pytest.raises(UnknownName):
        campaigns.accept("cp_none", [{}])


def test_an_id_is_used_once(campaigns):
    campaign = campaigns.create(plan(), title="x")
    with pytest.raises(Conflict, match="exists"):
        campaigns.create(plan(), title="x", id=campaign.id)


def test_a_deceiving_text_is_refused(campaigns):
    domain = Domain(attributes=[Categorical(name="x", levels=["yes", "yes\u200b"])])
    with pytest.raises(Refusal, match="a screen shows"):
        campaigns.create(plan_collection(domain, Workload.of(["x"]), respondents=9, epsilon=1.0), title="x")
    assert campaigns.list() == []


def test_what_is_not_public_is_not_asked(campaigns):
    domain = Domain(attributes=[Numeric(name="a", bounds=(0, 9), bins=3, derived=("bounds",))])
    channel = HadamardResponse.of(levels=domain["a"].size, epsilon=1.0)
    design = CollectionDesign(
        domain=domain,
        questions=(Asked(attributes=("a",), channel=channel, share=1.0),),
        epsilon=1.0,
        respondents=10,
        mode="singles",
    )
    with pytest.raises(NotPublic):
        campaigns.create(design, title="x")


@pytest.mark.parametrize("parts", [{"minimum": 0}, {"minimum": True}, {"closes": dt.datetime(2030, 1, 1)}])
def test_bad_terms(parts):
    with pytest.raises(InvalidInput):
        Terms(**parts)


@pytest.mark.parametrize(
    "parts", [{"size": 0}, {"size": 5, "floor": 0}, {"size": 5, "floor": 2}, {"size": 5, "seconds": 0}]
)
def test_bad_rounds(parts):
    with pytest.raises(InvalidInput, match="rounds"):
        Rounds(**parts)


def test_terms_survive_storing():
    terms = Terms(
        minimum=7,
        closes=dt.datetime(2030, 1, 1, tzinfo=dt.UTC),
        rounds=Rounds(size=5),
        stop=StopRule(half_width=0.1, level=0.9),
        keep_reports=True,
    )
    assert Terms.from_dict(terms.as_dict()) == terms


def test_every_channel_of_a_design_can_travel(campaigns):
    campaign = opened(campaigns, plan(Workload.all(DOMAIN, 2), epsilon=1.0, channel="auto"))
    for question, asked in zip(campaign.questions, campaign.design.questions, strict=True):
        assert question.channel == wire_of(asked.channel)
        assert question.charge == asked.channel.epsilon_upper


# -- what a review found ---------------------------------------------------------------------------------------------


def test_one_report_sent_thrice_does_no_harm_where_reports_are_kept(campaigns):
    campaign = opened(campaigns, keep_reports=True)
    (one,) = reports(campaign, [0])
    other = one | {"answer": 5}
    parsed = [campaigns.parse(campaign.id, batch) for batch in ([one], [one, other], reports(campaign, [1]))]
    outcomes = campaigns.accept_all(parsed)
    assert [getattr(outcome, "accepted", type(outcome)) for outcome in outcomes] == [1, Conflict, 1]
    with campaigns._database.reading() as connection:
        kept = {row.report.hex(): row.kept for row in connection.execute(kept_reports.select())}
    assert '"answer": 0' in kept[one["report"]]  # what is kept is what was counted


def test_a_width_that_nobody_can_reach_stops_nothing(campaigns):
    campaign = opened(campaigns, minimum=1, stop=StopRule(half_width=1e-10))
    for _ in range(5):
        assert campaigns.accept(campaign.id, reports(campaign, [0, 1])).accepted == 2
    assert campaigns.sheet(campaign.id)


def test_what_goes_wrong_after_the_commit_does_not_reach_the_sender(campaigns, monkeypatch):
    campaign = opened(campaigns, rounds=Rounds(size=2))
    monkeypatch.setattr(Campaigns, "_next_block", lambda *_: 1 / 0)
    assert campaigns.accept(campaign.id, reports(campaign, [0, 1, 2])).accepted == 3
    assert campaigns.get(campaign.id).reports == 3


def test_a_floor_that_no_integer_reaches_is_refused_at_once(campaigns):
    with pytest.raises(InvalidInput, match="cannot be represented"):
        campaigns.create(plan(), title="x", terms=Terms(rounds=Rounds(size=10, floor=1e-12)))


def test_the_minimum_is_one_of_people_for_each_table(campaigns):
    campaign = opened(campaigns, minimum=5)
    campaigns.accept(campaign.id, reports(campaign, [0] * 5) + reports(campaign, [0] * 4, "q2"))
    assert set(campaigns.releases(campaign.id)) == {("smokes", "sex")}


def test_fakes_do_not_tell_before_the_minimum(campaigns):
    campaign = opened(campaigns, minimum=50, rounds=Rounds(size=10))
    campaigns.accept(campaign.id, reports(campaign, [0] * 10))
    found = campaigns.get(campaign.id)
    assert found.block == 2
    assert all(len(set(asked.channel.fake)) == 1 for asked in found.design.questions)


def test_shards_make_a_second_count_impossible(campaigns, tmp_path):
    campaign = opened(campaigns, shard=(0, 2), aggregators=ORIGINS)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open(
        other.create(campaign.design, title="Health", id=campaign.id, terms=Terms(shard=(1, 2), aggregators=ORIGINS)).id
    )
    batch = reports(campaign, [0, 1, 2, 3] * 5)
    mine, theirs = ([r for r in batch if int(r["report"], 16) % 2 == place] for place in (0, 1))
    with pytest.raises(InvalidInput, match="belong to this aggregator"):
        campaigns.accept(campaign.id, batch)
    campaigns.accept(campaign.id, mine)
    other.accept(campaign.id, theirs)
    assert campaigns.merge(campaign.id, other.export(campaign.id)).reports == 20


@pytest.mark.parametrize(("epsilon", "answers"), [(2.5, "one"), (5.0, "view")])
def test_what_stock_devices_refuse_is_not_created(campaigns, epsilon, answers):
    four = Domain(attributes=[Categorical(name=n, levels=["0", "1"]) for n in "abcd"])
    design = plan_collection(four, Workload.all(four, 2), respondents=100, epsilon=epsilon, answers=answers)
    with pytest.raises(InvalidInput, match="stock device"):
        campaigns.create(design, title="x")
    assert campaigns.list() == []
    assert campaigns.create(design, title="x", terms=Terms(raised_limits=True)).state == "draft"


@pytest.mark.parametrize("aggregators", [None, ORIGINS[:1], (ORIGINS[0],) * 2, ("a.example", "b.example")])
def test_shards_name_the_address_of_each_aggregator(aggregators):
    with pytest.raises(InvalidInput, match="aggregators"):
        Terms(shard=(0, 2), aggregators=aggregators)


def test_stock_devices_are_refused_by_no_shard(campaigns, tmp_path):
    elsewhere = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    shares = [(campaigns, ORIGINS[0]), (elsewhere, ORIGINS[1])]
    for place, (each, _) in enumerate(shares):
        terms = Terms(minimum=1, shard=(place, 2), aggregators=ORIGINS)
        each.open(each.create(plan(), title="Health", id="health", terms=terms).id)
    for number in range(40):
        each, origin = shares[number % 2]
        device = Device(
            service=origin, ledger_path=tmp_path / f"{number}", limit_total_epsilon=2.0, limit_question_epsilon=2.0
        )
        value = {a.name: a.levels[0] for a in DOMAIN.attributes}
        ((report, receipt),) = device.answer_sheet([q.to_dict() for q in each.sheet("health")], value)
        assert receipt.service == origin
        assert each.accept("health", [report.to_dict()]).accepted == 1
    assert campaigns.merge("health", elsewhere.export("health")).reports == 40


def test_rounds_have_readable_addresses(campaigns):
    terms = Terms(minimum=1, rounds=Rounds(size=2))
    campaign = campaigns.open(campaigns.create(plan(), title="x", id="health-2026", terms=terms).id)
    campaigns.accept(campaign.id, reports(campaign, [0, 0]))
    assert campaigns.get("health-2026").block == 2


def test_aggregators_share_the_table_of_a_block(campaigns, tmp_path):
    elsewhere = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    rounds, mine = Rounds(size=4), ("0" * 31 + "0", "0" * 31 + "2", "0" * 31 + "4", "0" * 31 + "6")
    for place, each in enumerate((campaigns, elsewhere)):
        terms = Terms(minimum=1, shard=(place, 2), aggregators=ORIGINS, rounds=rounds)
        each.open(each.create(plan(), title="Health", id="health", terms=terms).id)
    first = elsewhere.get("health")
    assert elsewhere.adopt("health", campaigns.block("health")) == first  # the same block: nothing changes
    batch = [report | {"report": id} for report, id in zip(reports(first, [0] * 4), mine, strict=True)]
    campaigns.accept("health", batch)
    odd = [
        report | {"report": id[:-1] + "1357"[place]} for place, (report, id) in enumerate(zip(batch, mine, strict=True))
    ]
    elsewhere.accept("health", odd)
    assert (campaigns.get("health").block, elsewhere.get("health").block) == (2, 1)  # it waits for the table
    block = campaigns.block("health")
    assert elsewhere.adopt("health", block).block == 2
    assert elsewhere.adopt("health", block).block == 2
    assert [q.digest for q in elsewhere.get("health").questions] == [
        q.digest for q in campaigns.get("health").questions
    ]
    with pytest.raises(Conflict, match="follow"):
        campaigns.adopt("health", block)
    assert campaigns.merge("health", elsewhere.export("health")).reports == 8


def test_each_block_follows_the_reports_of_all_aggregators(campaigns, tmp_path):
    elsewhere = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    for place, each in enumerate((campaigns, elsewhere)):
        terms = Terms(minimum=1, shard=(place, 2), aggregators=ORIGINS, rounds=Rounds(size=8))
        each.open(each.create(plan(), title="Health", id="health", terms=terms).id)

    def answered(each, first, question):
        batch = reports(each.get("health"), [0] * 4, question)
        ids = (f"{first + 2 * place:032x}" for place in range(4))
        each.accept("health", [report | {"report": id} for report, id in zip(batch, ids, strict=True)])

    for block, question in ((1, "q1"), (2, "q1.2"), (3, "q1.3")):
        answered(campaigns, 100 * block, question)
        answered(elsewhere, 100 * block + 1, question)
        assert campaigns.get("health").block == block  # half of a block's reports do not fill it
        found = campaigns.merge("health", elsewhere.export("health"))
        assert (found.block, found.reports) == (block + 1, 8 * block)
        assert elsewhere.adopt("health", campaigns.block("health")).block == block + 1
    # the same export again adds nothing, and late reports of a block that was merged count once
    assert campaigns.merge("health", elsewhere.export("health")).reports == 24
    answered(elsewhere, 901, "q1")
    assert campaigns.merge("health", elsewhere.export("health")).reports == 28
    whole = campaigns.export("health")
    assert sum(whole["received"].values()) == len(whole["reports"]) == 28
    assert sum(sum(found) for found in whole["counts"].values()) == 28
    fewer = elsewhere.export("health")
    fewer["received"]["q1"] -= 1
    fewer["counts"]["q1"][int(np.argmax(fewer["counts"]["q1"]))] -= 1
    fewer["reports"].remove(f"{901:032x}")
    with pytest.raises(Conflict, match="exported before"):
        campaigns.merge("health", fewer)
    assert campaigns.get("health").reports == 28


@pytest.mark.parametrize(
    "change",
    [
        {"block": 3},
        {"campaign": "other"},
        {"tacita": "block/2"},
        {"questions": []},
        {"epsilon": 1.5},
        {"channel": {"kind": "hadamard", "keep": 1, "fake": 9}},
    ],
)
def test_a_block_that_asks_something_else_is_not_adopted(campaigns, change):
    terms = Terms(minimum=1, shard=(1, 2), aggregators=ORIGINS, rounds=Rounds(size=4))
    campaigns.open(campaigns.create(plan(), title="Health", id="health", terms=terms).id)
    block = campaigns.block("health") | {"block": 2}
    block["questions"] = [
        question | {"question": question["question"] + ".2"} | ({} if number else change)
        for number, question in enumerate(block["questions"])
    ]
    if set(change) & set(block):
        block |= change
    with pytest.raises(TacitaError):
        campaigns.adopt("health", block)
    assert campaigns.get("health").block == 1


def test_a_hollow_export_is_refused(campaigns, tmp_path):
    campaign = opened(campaigns)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open(other.create(campaign.design, title="Health", id=campaign.id).id)
    other.accept(campaign.id, reports(campaign, [3, 4]))
    exported = other.export(campaign.id)
    floats = {"q1": [float(n) for n in exported["counts"]["q1"]]}
    hollow_parts = [{"counts": {}}, {"counts": None}, {"counts": floats}, {"reports": [1, 2]}]
    hollow_parts += [{"received": {"q1": found}} for found in ("x", "2", 2.0, 2.9, True)]
    for hollow in hollow_parts:
        with pytest.raises(InvalidInput, match="tally"):
            campaigns.merge(campaign.id, exported | hollow)


def test_nothing_is_merged_into_a_closed_campaign(campaigns, tmp_path):
    campaign = opened(campaigns)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open(other.create(campaign.design, title="Health", id=campaign.id).id)
    other.accept(campaign.id, reports(campaign, [3, 4]))
    campaigns.close(campaign.id)
    with pytest.raises(Conflict, match="open"):
        campaigns.merge(campaign.id, other.export(campaign.id))
    assert campaigns.get(campaign.id).reports == 0


def test_an_export_holds_no_reports_of_this_aggregator(campaigns, tmp_path):
    campaign = opened(campaigns, shard=(0, 2), aggregators=ORIGINS)
    other = Campaigns(Database(f"sqlite:///{tmp_path}/other.db"))
    terms = Terms(shard=(1, 2), aggregators=ORIGINS)
    other.open(other.create(campaign.design, title="Health", id=campaign.id, terms=terms).id)
    other.accept(campaign.id, [report | {"report": "1" * 32} for report in reports(campaign, [0])])
    with pytest.raises(InvalidInput, match="belong to this aggregator"):
        campaigns.merge(campaign.id, other.export(campaign.id) | {"reports": ["2" * 32]})


def test_a_long_id(campaigns):
    assert campaigns.create(plan(), title="x", id="c" * 60).id == "c" * 60


def test_only_new_questions_are_verified_when_a_block_begins(campaigns, monkeypatch):
    campaign = opened(campaigns, minimum=1, rounds=Rounds(size=4))
    campaigns.accept(campaign.id, reports(campaign, [0, 1]))
    verified = []
    real = Question.__post_init__
    monkeypatch.setattr(Question, "__post_init__", lambda self: (verified.append(self.question), real(self)))
    campaigns.accept(campaign.id, reports(campaign, [0, 1]))
    assert campaigns.get(campaign.id).block == 2
    assert all(name.endswith(".2") for name in verified)
    again = Campaigns(campaigns._database).get(campaign.id)
    assert again.design == campaigns.get(campaign.id).design
