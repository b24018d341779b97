"""The wire form: verified whole, unchanged on the way, and strict."""

import itertools
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.device.channels import RR
from tacita.collect.device.question import Ask, Question, Refusal, Report
from tacita.errors import InvalidInput, Refused

ROOT = Path(__file__).parents[3]
PLAIN = {
    "wire": 1,
    "campaign": "c",
    "question": "q",
    "asks": [{"attribute": "smokes", "levels": ["no", "yes"]}],
    "channel": {"kind": "rr", "keep": 2, "fake": [1, 1]},
    "epsilon": 1.1,
}
JOINT = PLAIN | {
    "asks": [
        {"attribute": "smokes", "levels": ["never", "sometimes", "daily"]},
        {"attribute": "sex", "levels": ["f", "m"]},
        {"attribute": "age", "levels": ["young", "old"]},
    ],
    "channel": {"kind": "subset", "size": 2, "on": 3, "bits": 3},
    "epsilon": 2.0,
}
TEXTS = json.loads((ROOT / "spec/vectors/text.json").read_text("utf-8"))
REPORT = {"wire": 1, "campaign": "c", "question": "q", "report": "0" * 31 + "a", "answer": 1}


def asking(levels, attribute="smokes"):
    return PLAIN | {"asks": [{"attribute": attribute, "levels": levels}]}


def schema(name):
    return Draft202012Validator(json.loads((ROOT / f"spec/wire/{name}.schema.json").read_text("utf-8")))


@pytest.mark.parametrize("data", [PLAIN, JOINT])
def test_round_trip(data):
    question = Question.from_dict(data)
    assert question.to_dict() == data
    assert Question.from_json(json.dumps(data)) == question
    assert Question.from_json(json.dumps(data).encode()) == question


def test_the_last_attribute_changes_fastest():
    question = Question.from_dict(JOINT)
    names = [ask["attribute"] for ask in JOINT["asks"]]
    combinations = list(itertools.product(*(ask["levels"] for ask in JOINT["asks"])))
    assert question.cells == len(combinations) == 12
    assert question.attributes == tuple(names)
    for cell, levels in enumerate(combinations):
        assert question.cell_of(dict(zip(names, levels, strict=True)) | {"not asked": "kept here"}) == cell
        assert question.levels_of(cell) == levels


@pytest.mark.parametrize(
    "value",
    [
        "daily",
        {},
        {"smokes": "daily", "sex": "f"},
        {"smokes": "daily", "sex": "f", "age": 0},
        ["daily", "f", "old"],
    ],
)
def test_a_value_must_name_a_level_of_each_attribute(value):
    with pytest.raises(Refusal) as caught:
        Question.from_dict(JOINT).cell_of(value)
    assert caught.value.reason == "value"
    assert "daily" not in str(caught.value.as_dict())


def test_one_attribute_needs_no_name():
    assert [Question.from_dict(PLAIN).cell_of(level) for level in ("no", "yes")] == [0, 1]
    assert Question.from_dict(PLAIN).cell_of({"smokes": "yes"}) == 1


def test_schemas_are_well_formed_and_accept_the_plain_ones():
    for name, data in (("question", PLAIN), ("question", JOINT), ("report", REPORT)):
        Draft202012Validator.check_schema(schema(name).schema)
        assert schema(name).is_valid(data)


def seen(text):
    """What is left to see of a text, said in another way than the package does."""
    ignorable = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    kept = [c for c in text if c not in ignorable and not unicodedata.name(c, "").startswith("VARIATION SELECTOR")]
    return " ".join(part for part in unicodedata.normalize("NFKC", "".join(kept)).split(" ") if part)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=9).filter(seen),
        min_size=2,
        max_size=9,
    ),
    st.floats(0.01, 8),
)
@settings(deadline=None)
def test_what_a_channel_calibrates_every_client_accepts(levels, epsilon):
    assume(len(set(map(seen, levels))) == len(levels))
    channel = RandomizedResponse.k_ary(levels=len(levels), epsilon=epsilon)
    data = asking(levels) | {"epsilon": epsilon}
    data["channel"] = {"kind": "rr", "keep": channel.keep, "fake": list(channel.fake)}
    question = Question.from_json(json.dumps(data))
    assert question.loss == channel.epsilon
    assert question.charge == channel.epsilon_upper <= epsilon


@pytest.mark.parametrize("case", TEXTS, ids=[case["name"] for case in TEXTS])
def test_texts_that_deceive_are_refused(case):
    with pytest.raises(Refusal) as caught:
        Question.from_dict(case["question"])
    assert caught.value.reason == case["reason"]


@given(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"]))
def test_no_character_without_a_picture_is_accepted(character):
    for data in (asking(["no", "yes"], f"a{character}"), asking(["no", f"{character}yes"])):
        with pytest.raises(Refusal) as caught:
            Question.from_dict(data)
        assert caught.value.reason == "text"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        json.dumps(PLAIN).replace("1.1", "NaN"),
        json.dumps(PLAIN).replace("1.1", "Infinity"),
        json.dumps(PLAIN).replace('"wire": 1', '"wire": 1, "wire": 1'),
        json.dumps(PLAIN).replace('"keep": 2', '"keep": 0, "keep": 2'),
        json.dumps(PLAIN).replace('"keep": 2', '"keep": ' + "9" * 5000),
        "[" * 100_000,
        b"\xff",
    ],
)
def test_text_that_could_be_read_in_two_ways_is_refused(text):
    with pytest.raises(Refusal) as caught:
        Question.from_json(text)
    assert caught.value.reason == "not-json"


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("epsilon", 10**400, "promise"),
        ("epsilon", float("nan"), "promise"),
        ("epsilon", float("inf"), "promise"),
        ("wire", 1.0, "wire-version"),
        ("asks", tuple(PLAIN["asks"]), "asks-count"),
        ("asks", [{"attribute": "smokes", "levels": ("no", "yes")}], "levels-count"),
        ("channel", {"kind": "unary", "on": 2, "off": 1, "bits": 2.0}, "bits"),
        ("channel", {"kind": "matrix", "weights": [(1, 2), (2, 1)]}, "weights-count"),
        ("channel", {"kind": "matrix", "weights": [[1, 2], [2.0, 1]]}, "weight"),
        ("channel", {"kind": "rr", "keep": 2.0, "fake": [1, 1]}, "weight"),
        ("channel", {"kind": "rr", "keep": 2, "fake": [1.0, 1]}, "weight"),
    ],
)
def test_what_only_python_can_see(member, value, reason):
    with pytest.raises(Refusal) as caught:
        Question.from_dict(PLAIN | {member: value})
    assert caught.value.reason == reason


def test_too_many_levels_are_refused_before_they_are_read():
    with pytest.raises(Refusal) as caught:
        Question.from_dict(asking([None] * (2**20 + 1)))
    assert caught.value.reason == "levels-count"


def test_an_owner_cannot_build_a_question_that_clients_refuse():
    with pytest.raises(Refusal) as caught:
        Question(
            campaign="c",
            question="q",
            asks=(Ask(attribute="a", levels=("x", "y")),),
            channel=RR(keep=2, fake=(1, 1)),
            epsilon=1.0,
        )
    assert isinstance(caught.value, Refused)
    assert caught.value.field == "epsilon"
    assert caught.value.as_dict()["reason"] == "loss-over-promise"


def test_the_digest_covers_every_member():
    plain = Question.from_dict(PLAIN)
    changes = [
        {"campaign": "d"},
        {"question": "r"},
        {"asks": [{"attribute": "drinks", "levels": ["no", "yes"]}]},
        {"asks": [{"attribute": "smokes", "levels": ["yes", "no"]}]},
        {"channel": {"kind": "hadamard", "keep": 2, "fake": 1}},
        {"channel": {"kind": "hash", "cells": 2, "keep": 2, "fake": 1}},
        {"channel": {"kind": "hash", "cells": 3, "keep": 2, "fake": 1}},
        {"channel": {"kind": "unary", "on": 2, "off": 1, "bits": 2}},
        {"channel": {"kind": "unary", "on": 4, "off": 2, "bits": 3}},
        {"channel": {"kind": "subset", "size": 1, "on": 3, "bits": 2}},
        {"channel": {"kind": "matrix", "weights": [[3, 1], [1, 3]]}},
        {"channel": {"kind": "rr", "keep": 1, "fake": [1, 1]}},
        {"channel": {"kind": "rr", "keep": 2, "fake": [1, 2]}},
        {"epsilon": 1.2},
    ]
    digests = {Question.from_dict(PLAIN | change).digest for change in changes}
    assert len(digests | {plain.digest}) == len(changes) + 1


def test_the_digest_covers_the_order_of_attributes():
    turned = JOINT | {"asks": JOINT["asks"][::-1]}
    assert Question.from_dict(turned).digest != Question.from_dict(JOINT).digest


@pytest.mark.parametrize(
    ("channel", "answer"),
    [
        ({"kind": "rr", "keep": 2, "fake": [1, 1]}, 1),
        ({"kind": "unary", "on": 2, "off": 1, "bits": 2}, "03"),
        ({"kind": "hash", "cells": 3, "keep": 2, "fake": 1}, [2**32 - 1, 2]),
        ({"kind": "hadamard", "keep": 2, "fake": 1}, 3),
        ({"kind": "subset", "size": 1, "on": 3, "bits": 2}, "02"),
        ({"kind": "matrix", "weights": [[3, 1], [1, 3]]}, 0),
    ],
)
def test_report_round_trip(channel, answer):
    data = REPORT | {"answer": answer}
    assert schema("report").is_valid(data)
    report = Report.from_dict(json.loads(json.dumps(data)))
    assert report.to_dict() == data
    assert hash(report) == hash(Report.from_dict(data))
    report.check_answers(Question.from_dict(PLAIN | {"channel": channel}))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("wire", 2),
        ("wire", True),
        ("campaign", ""),
        ("question", "a b"),
        ("report", "A" * 32),
        ("report", "a" * 31),
        ("report", "a" * 32 + "\n"),
        ("answer", -1),
        ("answer", True),
        ("answer", "1"),
        ("answer", ""),
        ("answer", "0A"),
        ("answer", "00" * (2**17 + 1)),
        ("answer", 1.5),
        ("answer", 2**21),
        ("answer", [1]),
        ("answer", [1, 2, 3]),
        ("answer", [2**32, 0]),
        ("answer", [0, 2**20]),
        ("answer", {}),
        ("answer", None),
        ("time", "12:00"),
    ],
)
def test_bad_reports_are_refused(member, value):
    with pytest.raises(InvalidInput):
        Report.from_dict(REPORT | {member: value})
    if value is not True and not str(value).endswith("\n"):
        assert not schema("report").is_valid(REPORT | {member: value})


@pytest.mark.parametrize("data", [None, [], {}, {k: v for k, v in REPORT.items() if k != "answer"}])
def test_reports_have_all_members(data):
    with pytest.raises(InvalidInput):
        Report.from_dict(data)


@pytest.mark.parametrize(
    "change", [{"answer": 2}, {"answer": "01"}, {"answer": [0, 1]}, {"question": "r"}, {"campaign": "d"}]
)
def test_a_report_must_fit_its_question(change):
    with pytest.raises(InvalidInput):
        Report.from_dict(REPORT | change).check_answers(Question.from_dict(PLAIN))


def test_the_client_needs_nothing_but_the_standard_library():
    program = """
import sys
before = set(sys.modules)
import tacita.collect.device.device, tacita.collect.device.question
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
foreign = loaded - set(sys.stdlib_module_names) - {"tacita"}
ours = sorted(name for name in sys.modules if name.startswith("tacita"))
print(sorted(foreign), ours)
sys.exit(bool(foreign))
"""
    # -S keeps the site's start-up hooks out: what is left is what the import itself asks for.
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for module in ("channels", "ledger", "draw", "refusal"):
        assert f"'tacita.collect.device.{module}'" in done.stdout
    for room in ("channels", "planning", "estimating", "analysis", "campaigns"):
        assert f"'tacita.collect.{room}" not in done.stdout


def test_public_names_load_when_used():
    import tacita.collect

    for name in tacita.collect.__all__:
        assert getattr(tacita.collect, name) is not None
    assert dir(tacita.collect) == tacita.collect.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tacita.collect.nonsense


class Counted(str):
    """A text that counts how often it is compared with another one."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    def __hash__(self):
        return str.__hash__(self)


def test_the_time_to_find_a_level_does_not_depend_on_its_place():
    levels = tuple(Counted(f"level {number}") for number in range(1000))
    ask = Ask(attribute="a", levels=levels)
    ask.index("level 0")
    looks = []
    for number in (0, 500, 999):
        Counted.compared = 0
        assert ask.index(f"level {number}") == number
        looks.append(Counted.compared)
    assert max(looks) <= 3  # a search compares with each level before it
