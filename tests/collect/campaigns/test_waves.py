"""Series of campaigns: waves open one after the other, ask the same, and devices lose what was promised in all."""

from contextlib import suppress
from datetime import timedelta

import numpy as np
import pytest

from tacita.collect.campaigns import Campaigns, Rounds, Terms
from tacita.collect.campaigns.waves import ids_of_waves
from tacita.collect.device.device import Device
from tacita.collect.device.question import Refusal
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.stopping import StopRule
from tacita.domain import Boolean, Domain
from tacita.errors import Conflict, InvalidInput
from tacita.store import Database
from tacita.store.clock import now
from tacita.tables.workload import Workload
from tacita.testing.respondents import answer_campaign

DOMAIN = Domain(attributes=[Boolean(name="ill"), Boolean(name="old")])
ORIGINS = ("https://a.example", "https://b.example")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Database(url)


def plan(waves=3, turns=2, epsilon=2.0, **options):
    tables = Workload.of(("ill", "old"))
    options = {"respondents": 900, "epsilon": epsilon, "mode": "tables", "waves": waves, "turns": turns} | options
    return plan_collection(DOMAIN, tables, **options)


def opened(campaigns, design=None, id="panel", **terms):
    terms = Terms(**{"minimum": 20} | terms)
    return campaigns.open(campaigns.create(design or plan(), title="Health", terms=terms, id=id).id)


def people(count, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    return {name: (rng.random(count) < share).astype(int) for name in DOMAIN.names}


def test_waves_open_one_after_the_other_and_ask_the_same(database):
    campaigns = Campaigns(database)
    first = opened(campaigns)
    assert first.form.series.to_dict() == {"id": "panel", "wave": 1, "waves": 3, "turns": 2, "epsilon": 2.0}
    second = campaigns.open_wave("panel", 2)
    assert (second.id, second.state, second.reports) == ("panel.2", "open", 0)
    assert (campaigns.get("panel").state, campaigns.get("panel").reason) == ("closed", "the next wave has begun")
    assert [q.content for q in second.questions] == [q.content for q in first.questions]
    assert [q.question for q in second.questions] == [q.question for q in first.questions]
    assert not {q.digest for q in second.questions} & {q.digest for q in first.questions}
    third = Campaigns(database).open_wave("panel", 3)  # another process, by the id of the first
    assert third.form.series.wave == 3
    assert third.design == first.design
    assert [wave.id for wave in campaigns.waves("panel.2")] == ["panel", "panel.2", "panel.3"]
    with pytest.raises(Conflict, match="last of 3 waves"):
        campaigns.open_wave("panel.3", 4)


def test_counts_and_terms_belong_to_a_wave(database):
    campaigns = Campaigns(database)
    opened(campaigns, closes=now() + timedelta(days=1), keep_reports=True, minimum=1)
    answer_campaign(campaigns, "panel", people(120))
    closes = now() + timedelta(days=30)
    second = campaigns.open_wave("panel", 2, closes=closes)
    assert second.terms.closes == closes
    assert second.terms.keep_reports
    assert second.terms.minimum == 1
    answer_campaign(campaigns, "panel.2", people(60, 1))
    assert (campaigns.get("panel").reports, campaigns.get("panel.2").reports) == (120, 60)
    before, after = campaigns.since("panel.2")
    totals = [sum(int(counts.sum()) for _, counts in tally.questions()) for tally in (before, after)]
    assert totals == [120, 60]
    recipe = campaigns.releases("panel.2")["ill", "old"].provenance.recipe
    assert {name: recipe[name] for name in ("waves", "turns", "epsilon_series")} == {
        "waves": 3, "turns": 2, "epsilon_series": 2.0,
    }  # fmt: skip
    assert campaigns.open_wave("panel", 3).terms.closes is None


def test_a_device_loses_what_the_series_promises_whatever_the_waves(database, tmp_path):
    campaigns = Campaigns(database)
    opened(campaigns, plan(answers="view"))
    device = Device(
        service="https://survey.example",
        ledger_path=tmp_path / "d.json",
        limit_total_epsilon=4,
        limit_question_epsilon=2,
    )
    answered = []
    for wave, id in enumerate(ids_of_waves("panel", 3), 1):
        sheet = [question.to_dict() for question in campaigns.sheet(id)]
        try:
            given = device.answer_sheet(sheet, {"ill": "true", "old": "false"})
            campaigns.accept(id, [report.to_dict() for report, _ in given])
            answered.append(id)
        except Refusal as refusal:
            assert refusal.reason == "not-your-turn"  # noqa: PT017
        if wave < 3:
            campaigns.open_wave(id, wave + 1)
    assert len(answered) == 2
    assert 4 - device.remaining() <= 2.0 * (1 + 1e-9)


def test_a_repeated_request_opens_no_second_wave(database):
    one, other = Campaigns(database), Campaigns(database)
    opened(one)
    closes = now() + timedelta(days=1)
    assert [each.open_wave("panel", 2, closes=closes).id for each in (one, other, one)] == ["panel.2"] * 3
    assert (one.get("panel.2").state, [wave.id for wave in one.waves("panel")]) == ("open", ["panel", "panel.2"])
    with pytest.raises(Conflict, match="end cannot be changed"):
        one.open_wave("panel", 2)
    one.close("panel.2")
    with pytest.raises(Conflict, match=r"cannot be opened again.*next is wave 3"):
        other.open_wave("panel.2", 2, closes=closes)


def test_a_wave_does_not_begin_after_its_end(database):
    """It would be over at once, and the wave before it with it."""
    campaigns = Campaigns(database)
    opened(campaigns)
    with pytest.raises(InvalidInput, match="closes"):
        campaigns.open_wave("panel", 2, closes=now() - timedelta(days=1))
    assert campaigns.get("panel").state == "open"


@pytest.mark.parametrize(
    ("wave", "error"),
    [(0, InvalidInput), (1, InvalidInput), (True, InvalidInput), ("2", InvalidInput), (3, Conflict), (4, Conflict)],
)
def test_a_wave_that_is_not_next_is_not_opened(database, wave, error):
    campaigns = Campaigns(database)
    opened(campaigns)
    with pytest.raises(error, match="wave"):
        campaigns.open_wave("panel", wave)
    assert [each.id for each in campaigns.waves("panel")] == ["panel"]
    assert campaigns.get("panel").state == "open"


def test_a_wave_needs_a_series_that_is_open(database):
    campaigns = Campaigns(database)
    campaigns.create(plan(), title="Health", id="panel")
    with pytest.raises(Conflict, match="not open yet"):
        campaigns.open_wave("panel", 2)
    alone = opened(campaigns, plan(waves=1, turns=1), id="alone")
    for call in (campaigns.open_wave, campaigns.since):
        with pytest.raises(Conflict, match="stands alone"):
            call("alone", 2)
    assert [wave.id for wave in campaigns.waves("alone")] == ["alone"]
    assert alone.as_dict()["series"] is None
    assert campaigns.get("panel").state == "draft"


def test_names_of_later_waves_are_kept_for_them(database):
    campaigns = Campaigns(database)
    opened(campaigns)
    for id in ("panel.2", "panel.3"):
        with pytest.raises(Conflict, match="is kept for wave"):
            opened(campaigns, plan(waves=1, turns=1), id=id)
    for id in ("panel.1", "panel.02", "panel.4", "none.2"):
        opened(campaigns, plan(waves=1, turns=1), id=id)
    with pytest.raises(Conflict, match="later wave, and exists"):
        opened(campaigns, id="none")
    assert campaigns.open_wave("panel", 2).id == "panel.2"
    opened(campaigns, id="panel.2.2")  # the wave panel.2 is no series of its own


def test_an_earlier_wave_is_named_by_its_number(database):
    campaigns = Campaigns(database)
    opened(campaigns)
    for wave in (None, 1):
        with pytest.raises(Conflict, match="is the first wave"):
            campaigns.since("panel", wave)
    answer_campaign(campaigns, "panel", people(60))
    campaigns.open_wave("panel", 2)
    for wave in (0, 2, True):
        with pytest.raises(InvalidInput, match="since"):
            campaigns.since("panel.2", wave)
    with pytest.raises(Conflict, match=r"publishes.*'panel.2' that has too few"):
        campaigns.since("panel.2", 1)


def test_invited_waves_have_keys_and_codes_of_their_own(database):
    campaigns = Campaigns(database)
    opened(campaigns, invited=True)
    campaigns.invite("panel", 2)
    second = campaigns.open_wave("panel", 2)
    assert second.form.key != campaigns.get("panel").form.key
    assert campaigns.invited("panel.2") == {"made": 0, "used": 0}


@pytest.mark.parametrize(
    ("terms", "design", "field"),
    [
        ({"rounds": Rounds(size=50)}, {"channel": "rr"}, "rounds"),
        ({"shard": (0, 2), "aggregators": ORIGINS}, {}, "shard"),
        ({}, {"epsilon": 5.0, "turns": 3}, "epsilon"),  # more than a stock device loses in all
    ],
)
def test_terms_that_fit_no_series(database, terms, design, field):
    with pytest.raises(InvalidInput) as caught:
        opened(Campaigns(database), plan(**design), **terms)
    assert caught.value.field == field
    assert Campaigns(database).list() == []


def test_a_name_must_leave_room_for_the_number(database):
    campaigns = Campaigns(database)
    with pytest.raises(InvalidInput, match="62 characters"):
        opened(campaigns, id="p" * 63)
    opened(campaigns, id="p" * 62)
    assert len(campaigns.open_wave("p" * 62, 2).id) == 64
    assert opened(campaigns, id=None).form.series.id.startswith("cp_")


def test_a_rule_to_stop_holds_for_each_wave(database):
    campaigns = Campaigns(database)
    opened(campaigns, stop=StopRule(half_width=0.2))
    with suppress(Conflict):  # reports that come when it is accurate already
        answer_campaign(campaigns, "panel", people(3000))
    assert campaigns.get("panel").reason == "accurate enough"
    second = campaigns.open_wave("panel", 2)
    assert (second.state, second.looks) == ("open", 0)
    assert second.terms.stop == campaigns.get("panel").terms.stop
