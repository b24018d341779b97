"""Questions to a respondent's device and reports from it, as plain data: wire version 1.

A question asks for one attribute or for several at once, carries all numbers that its answer will be drawn with, and
promises a loss. The receiver checks it by itself: a `Question` that exists has passed every rule below, in the order
of docs/reference/wire.md, which the JavaScript client follows too. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from tacita.collect.device.blind import is_key, is_token
from tacita.collect.device.channels import MAX_CELLS, SEED_RANGE, Answer, DeviceChannel, device_channel
from tacita.collect.device.draw import WORD_RANGE
from tacita.collect.device.refusal import Refusal, is_integer, members_of
from tacita.collect.device.series import Series
from tacita.errors import InvalidInput

__all__ = [
    "MAX_AGGREGATORS",
    "MAX_ASKS",
    "MAX_LEVELS",
    "SLACK",
    "WIRE",
    "Ask",
    "Question",
    "Refusal",
    "Report",
    "check_origin",
    "fingerprint",
    "seen",
    "shard_of",
]

WIRE = 1
MAX_ASKS = 16
MAX_LEVELS = MAX_CELLS
MAX_AGGREGATORS = 64
SLACK = 1.0 + 1e-12  # two implementations of the logarithm may differ in the last places; nothing else is forgiven
_LONGEST = 200  # characters of an attribute or a level
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # categories that show nothing, or reorder what is shown
# what is left of Unicode's default ignorables: letters and marks without a picture of their own
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_REPORT_ID = re.compile(r"[0-9a-f]{32}")
_PACKED = re.compile(r"(?:[0-9a-f]{2})+")
_QUESTION_MEMBERS = ("wire", "campaign", "question", "asks", "channel", "epsilon")
_OPTIONAL_MEMBERS = ("aggregators", "key", "series")
_ASK_MEMBERS = ("attribute", "levels")
_REPORT_MEMBERS = ("wire", "campaign", "question", "report", "answer")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One attribute that a question asks for.

    Args:
        attribute: What is asked, in the owner's words.
        levels: The possible answers, in order.
    """

    attribute: str
    levels: tuple[str, ...]

    @classmethod
    def from_dict(cls, data: object, field: str) -> Self:
        """Read an ask from parsed JSON; `check` says whether its texts are good."""
        members = members_of(data, field, _ASK_MEMBERS)
        if not isinstance(members["levels"], list):
            raise Refusal("levels-count", "must be a list", field=f"{field}.levels")
        return cls(attribute=members["attribute"], levels=tuple(members["levels"]))

    def to_dict(self) -> dict[str, Any]:
        """The ask as it travels."""
        return {"attribute": self.attribute, "levels": list(self.levels)}

    def check(self, field: str) -> None:
        """Refuse texts with hidden characters, and levels that look the same."""
        _check_text(self.attribute, f"{field}.attribute")
        if not isinstance(self.levels, tuple) or not 2 <= len(self.levels) <= MAX_LEVELS:
            raise Refusal("levels-count", "must be 2 to 2**20 levels", field=f"{field}.levels")
        shown = {_check_text(level, f"{field}.levels[{index}]") for index, level in enumerate(self.levels)}
        if len(shown) < len(self.levels):  # two levels that look the same to a person count as one
            raise Refusal("levels-repeated", "must all be different", field=f"{field}.levels")

    def index(self, level: object) -> int:
        """The place of a level. Looked up, not searched: the time must not depend on the place."""
        place = self._places.get(level) if isinstance(level, str) else None
        if place is None:
            # The value is the respondent's own: the message must not carry it.
            raise Refusal("value", "must be one of the levels of each attribute that is asked", field="value")
        return place

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels)}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of a campaign, and the channel its answer goes through.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question inside it.
        asks: What is asked for, 1 to 16 attributes. The cells are all combinations of their levels, the last
            attribute's level changing fastest.
        channel: What a cell goes through.
        epsilon: The loss that the owner promises; the one computed from the channel may not exceed it.
        aggregators: The origins that share the campaign, in order, where there are several: a report belongs to the
            one that `shard_of` its id names. None where the one that asks takes the report.
        key: In an invited campaign, the key that signs tokens (`blind`); an answer needs one. None in an open campaign.
        series: The series that the campaign is a wave of; None where it stands alone.
    """

    campaign: str
    question: str
    asks: tuple[Ask, ...]
    channel: DeviceChannel
    epsilon: float
    aggregators: tuple[str, ...] | None = None
    key: str | None = None
    series: Series | None = None

    def __post_init__(self) -> None:
        _check_identifier(self.campaign, "campaign")
        _check_identifier(self.question, "question")
        _check_aggregators(self.aggregators)
        if self.key is not None and not is_key(self.key):
            raise Refusal("key", "must be an odd modulus of 2048 bits in hexadecimal digits", field="key")
        if self.series is not None:
            self.series.check()
        _check_asks_count(self.asks)
        for index, ask in enumerate(self.asks):
            ask.check(f"asks[{index}]")
        if len({seen(name) for name in self.attributes}) < len(self.asks):
            raise Refusal("attribute-repeated", "must ask for each attribute once", field="asks")
        if self.cells > MAX_CELLS:
            raise Refusal("cells-count", "must have at most 2**20 combinations of levels", field="asks")
        self.channel.check(self.cells)
        _check_promise(self.epsilon, self.loss)

    @cached_property
    def cells(self) -> int:
        """Number of combinations of levels."""
        return math.prod(len(ask.levels) for ask in self.asks)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that are asked for."""
        return tuple(ask.attribute for ask in self.asks)

    @cached_property
    def loss(self) -> float:
        """The loss computed from the channel, whatever the promise says; nearest float."""
        return self.channel.loss(self.cells)

    @cached_property
    def charge(self) -> float:
        """The same loss rounded outward: what a ledger books."""
        return self.channel.charge(self.cells)

    def cell_of(self, value: object) -> int | None:
        """The cell of a true value; None where the respondent has no such value.

        Args:
            value: A mapping from attribute to level, which may hold other attributes too; or the level itself where
                one attribute is asked. None, for a level or for all of it, says that there is none.

        Raises:
            Refusal: An attribute is missing, or its level is none of the question's; the value is not repeated.
        """
        if isinstance(value, str) and len(self.asks) == 1:
            return self.asks[0].index(value)
        held = value if isinstance(value, Mapping) else {}
        if value is None or any(ask.attribute in held and held[ask.attribute] is None for ask in self.asks):
            return None
        cell = 0
        for ask in self.asks:
            cell = cell * len(ask.levels) + ask.index(held.get(ask.attribute))
        return cell

    def levels_of(self, cell: int) -> tuple[str, ...]:
        """The level of each attribute in a cell."""
        levels = []
        for ask in reversed(self.asks):
            cell, level = divmod(cell, len(ask.levels))
            levels.append(ask.levels[level])
        return tuple(reversed(levels))

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read and verify a question from parsed JSON."""
        members = _question_members(data)
        _check_asks_count(members["asks"], kind=list)
        asks = tuple(Ask.from_dict(ask, f"asks[{index}]") for index, ask in enumerate(members["asks"]))
        channel = device_channel(members["channel"])
        aggregators = None
        if "aggregators" in members:  # what is not a list fails as an empty one does
            listed = members["aggregators"]
            aggregators = tuple(listed) if isinstance(listed, list) else ()
        known = {name: members[name] for name in ("campaign", "question", "epsilon")}
        key = members["key"] or "" if "key" in members else None  # null is no key
        series = Series.from_dict(members["series"]) if "series" in members else None
        return cls(**known, asks=asks, channel=channel, aggregators=aggregators, key=key, series=series)

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
            "asks": [ask.to_dict() for ask in self.asks],
            "channel": self.channel.to_dict(),
            "epsilon": self.epsilon,
        } | self._optional({} if self.series is None else {"series": self.series.to_dict()})

    def _optional(self, last: dict[str, Any]) -> dict[str, Any]:
        shared = {} if self.aggregators is None else {"aggregators": list(self.aggregators)}
        return shared | ({} if self.key is None else {"key": self.key}) | last

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all content, equal in every client; see docs/reference/wire.md.

        The promise enters as the bytes of its float64, because languages print floats differently.
        """
        parts: list[Any] = [WIRE, self.campaign, self.question, *self._asked]
        last: dict[str, Any] = {}
        if (series := self.series) is not None:
            last["series"] = [series.id, series.wave, series.waves, series.turns, _bytes_of(series.epsilon)]
        parts += [[name, value] for name, value in self._optional(last).items()]
        return _sha256(parts)

    @cached_property
    def content(self) -> str:
        """SHA-256 over what is asked, through which channel, at which promise: the same in every wave of a series."""
        return _sha256(self._asked)

    @property
    def _asked(self) -> list[Any]:
        asks = [[ask.attribute, list(ask.levels)] for ask in self.asks]
        return [asks, list(self.channel.to_dict().values()), _bytes_of(self.epsilon)]


@dataclass(frozen=True, kw_only=True)
class Report:
    """One randomised answer on its way to the campaign; nothing else about its sender.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        report: 32 lower-case hexadecimal digits, random; sending it twice counts once.
        answer: What the channel of the question sends: an index, packed bits in hexadecimal digits, or a pair.
        token: In an invited campaign, what the respondent was signed for a code; it names the report.
    """

    campaign: str
    question: str
    report: str
    answer: Answer
    token: str | None = None

    def __post_init__(self) -> None:
        for name in ("campaign", "question"):
            if not _matches(_IDENTIFIER, getattr(self, name)):
                raise InvalidInput("must be an identifier of 1 to 64 characters", field=name)
        if not _matches(_REPORT_ID, self.report):
            raise InvalidInput("must be 32 lower-case hexadecimal digits", field="report")
        if not _is_answer(self.answer):
            raise InvalidInput("must be an index, packed bits or a pair", field="answer")
        if self.token is not None and not is_token(self.token):
            raise InvalidInput("must be a token in hexadecimal digits", field="token")

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read and verify a report from parsed JSON."""
        if not isinstance(data, dict) or set(data) - {"token"} != set(_REPORT_MEMBERS):
            raise InvalidInput(f"must have the members {', '.join(_REPORT_MEMBERS)}", field="report")
        if not is_integer(data["wire"]) or data["wire"] != WIRE:
            raise InvalidInput(f"must be {WIRE}", field="wire")
        answer = data["answer"]
        names = ("campaign", "question", "report")
        sent = tuple(answer) if type(answer) is list else answer
        token = data["token"] or "" if "token" in data else None
        return cls(**{name: data[name] for name in names}, answer=sent, token=token)

    def to_dict(self) -> dict[str, Any]:
        """The report as it travels."""
        shape = {"wire": WIRE} | {name: getattr(self, name) for name in _REPORT_MEMBERS if name != "wire"}
        shape |= {"answer": list(self.answer)} if isinstance(self.answer, tuple) else {}
        return shape | ({} if self.token is None else {"token": self.token})

    def check_answers(self, question: Question) -> None:
        """Check that this is an answer to that question."""
        if (self.campaign, self.question) != (question.campaign, question.question):
            raise InvalidInput("must name the question that it answers", field="question", value=self.question)
        question.channel.check_answer(question.cells, self.answer)


def _bytes_of(number: float) -> str:
    return struct.pack(">d", number).hex()


def _sha256(parts: list[Any]) -> str:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def seen(text: str) -> str:
    """Return the text as a person sees it: compatible forms as one, no invisible characters; case counts."""
    shown = text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return re.sub(" +", " ", shown).strip(" ")


def fingerprint(title: str, digests: Sequence[str]) -> str:
    """Digest that respondents of one survey can compare: 32 hexadecimal digits over its title and all its questions."""
    text = json.dumps([title, *digests], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def check_origin(origin: object, field: str) -> None:
    """Check the address of a service: scheme, host and port, in lower case, without a path."""
    if not _matches(_ORIGIN, origin):
        raise InvalidInput("must be an origin such as https://survey.example", field=field, value=origin)


def shard_of(report: str, aggregators: int) -> int:
    """The place of the aggregator that a report belongs to, by its id."""
    return int(report, 16) % aggregators


def _question_members(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Refusal("not-an-object", "must be an object", field="question")
    # The version comes first: members of a later version are not wrong, only not ours to read.
    if not (is_integer(data.get("wire")) and data["wire"] == WIRE):
        raise Refusal("wire-version", f"must be {WIRE}", field="wire", value=data.get("wire"), hint="Update the client")
    return members_of(data, "question", _QUESTION_MEMBERS, _OPTIONAL_MEMBERS)


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_answer(answer: object) -> bool:
    """Whether some channel could send it."""
    if isinstance(answer, str):
        return len(answer) <= MAX_CELLS // 4 and _matches(_PACKED, answer)
    if isinstance(answer, tuple):
        ends = (SEED_RANGE, MAX_CELLS)
        return len(answer) == 2 and all(is_integer(part) and part < end for part, end in zip(answer, ends, strict=True))
    return is_integer(answer) and answer < 2 * MAX_CELLS


def _check_identifier(value: object, field: str) -> None:
    if not _matches(_IDENTIFIER, value):
        rule = "must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first"
        raise Refusal("identifier", rule, field=field, value=value)


def _check_aggregators(origins: object) -> None:
    if origins is None:
        return
    listed = origins if isinstance(origins, tuple) and 2 <= len(origins) <= MAX_AGGREGATORS else ()
    if not listed or not all(_matches(_ORIGIN, origin) for origin in listed) or len(set(listed)) < len(listed):
        rule = f"must be 2 to {MAX_AGGREGATORS} different origins such as https://survey.example"
        raise Refusal("aggregators", rule, field="aggregators")


def _check_asks_count(asks: object, *, kind: type[list[Any]] | type[tuple[Any, ...]] = tuple) -> None:
    if not isinstance(asks, kind) or not 1 <= len(asks) <= MAX_ASKS:
        raise Refusal("asks-count", f"must be a list of 1 to {MAX_ASKS}", field="asks")


def _check_text(value: object, field: str) -> str:
    """The text as it looks, after checking that a screen shows what is meant."""
    good = isinstance(value, str) and 0 < len(value) <= _LONGEST and _is_shown(value)
    shown = seen(str(value)) if good else ""
    if not shown:
        raise Refusal("text", f"must be 1 to {_LONGEST} characters that a screen shows as they are", field=field)
    return shown


def _is_shown(text: str) -> bool:
    return text.isprintable() or not any(unicodedata.category(c) in _HIDDEN for c in text)


def _check_promise(epsilon: float, computed: float) -> None:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < WORD_RANGE:
        raise Refusal("promise", "must be a positive number below 2**53", field="epsilon", value=epsilon)
    if computed > epsilon * SLACK:
        raise Refusal(
            "loss-over-promise",
            f"the channel loses {computed:.6g}, which must not exceed the promise",
            field="epsilon",
            value=epsilon,
        )


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("repeated member")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(name)
