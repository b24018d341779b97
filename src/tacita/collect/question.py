"""What goes to a respondent's device and what comes back, as plain data: wire version 1.

A question carries everything that its answer will be drawn with, and a promise of the loss. Whoever
receives it checks it by itself: a `Question` that exists has passed every rule below, in the order of
docs/reference/wire.md, which the JavaScript client follows too. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeGuard

from tacita.collect.draw import WORD_RANGE, loss, loss_upper
from tacita.errors import InvalidInput, Refused

__all__ = ["MAX_LEVELS", "SLACK", "WIRE", "Question", "Refusal", "Report"]

WIRE = 1
MAX_LEVELS = 2**20
SLACK = 1.0 + 1e-12  # two implementations of the logarithm may differ in the last places; nothing else is forgiven
_LONGEST = 200  # characters of an attribute or a level
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # categories that show nothing, or reorder what is shown
# what is left of Unicode's default ignorables: letters and marks without a picture of their own
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_REPORT_ID = re.compile(r"[0-9a-f]{32}")
_QUESTION_MEMBERS = ("wire", "campaign", "question", "attribute", "levels", "channel", "epsilon")
_CHANNEL_MEMBERS = ("kind", "keep", "fake")
_REPORT_MEMBERS = ("wire", "campaign", "question", "report", "answer")


class Refusal(Refused):
    """A question that no client answers, with the reason as a word for programs.

    Args:
        reason: One of the words listed in docs/reference/wire.md, the same in every client.
        rule: What must hold.
        field: The member of the question, or the limit, that the rule is about.
        value: What was there instead; never the respondent's own value.
        hint: The way out.
    """

    def __init__(self, reason: str, rule: str, *, field: str, value: object = None, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(rule, field=field, value=value, hint=hint)

    def extra(self) -> dict[str, Any]:
        """The reason, beside the common members."""
        return {"reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of a campaign, and the randomized-response channel its answer goes through.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question inside it.
        attribute: What is asked, in the owner's words.
        levels: The possible answers, in order.
        keep: Weight of keeping the truth.
        fake: Weight of each level as a fake answer.
        epsilon: The loss that the owner promises; the one computed from the weights may not exceed it.
    """

    campaign: str
    question: str
    attribute: str
    levels: tuple[str, ...]
    keep: int
    fake: tuple[int, ...]
    epsilon: float

    def __post_init__(self) -> None:
        _check_identifier(self.campaign, "campaign")
        _check_identifier(self.question, "question")
        _check_text(self.attribute, "attribute")
        _check_levels(self.levels)
        _check_weights(self.keep, self.fake, len(self.levels))
        _check_promise(self.epsilon, self.loss)

    @cached_property
    def loss(self) -> float:
        """The loss computed from the weights, whatever the promise says; nearest float."""
        return loss(self.keep, self.fake)

    @cached_property
    def charge(self) -> float:
        """The same loss rounded outward: what a ledger books."""
        return loss_upper(self.keep, self.fake)

    @cached_property
    def total(self) -> int:
        """The common denominator of all probabilities."""
        return self.keep + sum(self.fake)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read and verify a question from parsed JSON."""
        members = _object(data, "question", _QUESTION_MEMBERS, wire=True)
        if not isinstance(members["levels"], list):
            raise Refusal("levels-count", "must be a list", field="levels")
        channel = members["channel"]
        # The kind comes before the members: an unknown kind has members of its own.
        if not isinstance(channel, dict) or channel.get("kind") != "rr":
            raise Refusal("channel-kind", "must be an object of the kind 'rr'", field="channel.kind")
        _object(channel, "channel", _CHANNEL_MEMBERS)
        if not isinstance(channel["fake"], list):
            raise Refusal("fake-count", "must be a list", field="channel.fake")
        names = ("campaign", "question", "attribute", "epsilon")
        return cls(
            **{name: members[name] for name in names},
            levels=tuple(members["levels"]),
            keep=channel["keep"],
            fake=tuple(channel["fake"]),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read and verify a question from JSON text; repeated members and NaN are refused."""
        try:
            data = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise Refusal("not-json", "must be well-formed JSON", field="question") from error
        return cls.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """The question as it travels."""
        return {
            "wire": WIRE,
            "campaign": self.campaign,
            "question": self.question,
            "attribute": self.attribute,
            "levels": list(self.levels),
            "channel": {"kind": "rr", "keep": self.keep, "fake": list(self.fake)},
            "epsilon": self.epsilon,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all content, equal in every client; see docs/reference/wire.md.

        The promise enters as the bytes of its float64, because languages print floats differently.
        """
        promise = struct.pack(">d", self.epsilon).hex()
        parts = [WIRE, self.campaign, self.question, self.attribute, list(self.levels)]
        parts += ["rr", self.keep, list(self.fake), promise]
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Report:
    """One randomised answer on its way to the campaign; nothing else about its sender.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        report: 32 lower-case hexadecimal digits, random; sending it twice counts once.
        answer: Index of the level that is sent.
    """

    campaign: str
    question: str
    report: str
    answer: int

    def __post_init__(self) -> None:
        for name in ("campaign", "question"):
            if not _matches(_IDENTIFIER, getattr(self, name)):
                raise InvalidInput("must be an identifier of 1 to 64 characters", field=name)
        if not _matches(_REPORT_ID, self.report):
            raise InvalidInput("must be 32 lower-case hexadecimal digits", field="report")
        if not _is_integer(self.answer) or self.answer >= MAX_LEVELS:
            raise InvalidInput("must be the index of a level", field="answer")

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read and verify a report from parsed JSON."""
        if not isinstance(data, dict) or set(data) != set(_REPORT_MEMBERS):
            raise InvalidInput(f"must have the members {', '.join(_REPORT_MEMBERS)}", field="report")
        if not _is_integer(data["wire"]) or data["wire"] != WIRE:
            raise InvalidInput(f"must be {WIRE}", field="wire")
        return cls(**{name: data[name] for name in _REPORT_MEMBERS if name != "wire"})

    def to_dict(self) -> dict[str, Any]:
        """The report as it travels."""
        return {"wire": WIRE} | {name: getattr(self, name) for name in _REPORT_MEMBERS if name != "wire"}

    def check_answers(self, question: Question) -> None:
        """Check that this is an answer to that question."""
        if (self.campaign, self.question) != (question.campaign, question.question):
            raise InvalidInput("must name the question that it answers", field="question", value=self.question)
        if self.answer >= len(question.levels):
            raise InvalidInput(f"must be below {len(question.levels)}", field="answer", value=self.answer)


def _object(data: object, field: str, wanted: tuple[str, ...], *, wire: bool = False) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Refusal("not-an-object", "must be an object", field=field)
    # The version comes first: members of a later version are not wrong, only not ours to read.
    if wire and not (_is_integer(data.get("wire")) and data["wire"] == WIRE):
        raise Refusal("wire-version", f"must be {WIRE}", field="wire", value=data.get("wire"), hint="Update the client")
    if missing := [name for name in wanted if name not in data]:
        raise Refusal("missing-member", f"must have the member {missing[0]!r}", field=field)
    if unknown := [name for name in data if name not in wanted]:
        raise Refusal("unknown-member", "may have no other members", field=field, value=unknown[0])
    return data


def _is_integer(value: object) -> TypeGuard[int]:
    # bool is an int in Python and 1.0 equals 1; on the wire only digits are an integer.
    return type(value) is int and 0 <= value < WORD_RANGE


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _check_identifier(value: object, field: str) -> None:
    if not _matches(_IDENTIFIER, value):
        rule = "must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first"
        raise Refusal("identifier", rule, field=field, value=value)


def _check_text(value: object, field: str) -> str:
    """The text as it looks, after checking that a screen shows what is meant."""
    good = isinstance(value, str) and 0 < len(value) <= _LONGEST and _is_shown(value)
    seen = _seen(str(value)) if good else ""
    if not seen:
        raise Refusal("text", f"must be 1 to {_LONGEST} characters that a screen shows as they are", field=field)
    return seen


def _is_shown(text: str) -> bool:
    return text.isprintable() or not any(unicodedata.category(c) in _HIDDEN for c in text)


def _seen(text: str) -> str:
    """What a person sees: compatible forms as one, without what has no picture; case counts."""
    shown = text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return re.sub(" +", " ", shown).strip(" ")


def _check_levels(levels: tuple[str, ...]) -> None:
    if not isinstance(levels, tuple) or not 2 <= len(levels) <= MAX_LEVELS:
        raise Refusal("levels-count", "must be 2 to 2**20 levels", field="levels")
    seen = {_check_text(level, f"levels[{index}]") for index, level in enumerate(levels)}
    if len(seen) < len(levels):  # two levels that a person cannot tell apart are one
        raise Refusal("levels-repeated", "must all be different", field="levels")


def _check_weights(keep: int, fake: tuple[int, ...], levels: int) -> None:
    if not _is_integer(keep):
        raise Refusal("weight", "must be an integer from 0 to 2**53 - 1", field="channel.keep", value=keep)
    if not isinstance(fake, tuple) or len(fake) != levels:
        raise Refusal("fake-count", "must hold one weight for each level", field="channel.fake")
    for index, weight in enumerate(fake):
        if not _is_integer(weight):
            rule = "must be an integer from 1 to 2**53 - 1"
            raise Refusal("weight", rule, field=f"channel.fake[{index}]", value=weight)
        if weight == 0:
            rule = "must be at least 1: a level that is never faked confesses the truth"
            raise Refusal("fake-zero", rule, field=f"channel.fake[{index}]")
    if keep + sum(fake) > WORD_RANGE:
        raise Refusal("total", "keep and fakes must sum to at most 2**53", field="channel")


def _check_promise(epsilon: float, computed: float) -> None:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < WORD_RANGE:
        raise Refusal("promise", "must be a positive number below 2**53", field="epsilon", value=epsilon)
    if computed > epsilon * SLACK:
        raise Refusal(
            "loss-over-promise",
            f"the weights lose {computed:.6g}, which must not exceed the promise",
            field="epsilon",
            value=epsilon,
        )


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("repeated member")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(name)
