"""Computations behind the form of a campaign: schema, tables, expected errors, texts for respondents.

Privacy: nothing here touches data; all of it is public, and is sent to every device.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

from tacita.collect.campaigns.campaign import question_of
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.plan import plan_collection
from tacita.common.yaml_text import load_yaml
from tacita.domain import Domain
from tacita.errors import InvalidInput, TacitaError
from tacita.figures.charts import Curve
from tacita.tables.workload import Workload

__all__ = [
    "EPSILONS",
    "MOST_REHEARSED",
    "RESPONDENTS",
    "Along",
    "Read",
    "Row",
    "closing_time",
    "error_curve",
    "mode_taken",
    "not_asked",
    "pairs_and_singles",
    "read_by_respondents",
    "rows_of",
    "schema_of",
    "tables_after",
    "tables_of",
]

Along = Literal["respondents", "epsilon"]
Table = tuple[str, ...]

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
RESPONDENTS = (*(base * 10**power for power in (2, 3, 4, 5) for base in (1, 2, 3, 5, 7)), 1_000_000)
_LEVELLED = ("categorical", "ordinal")
_FEW_PAIRS = 6
_CURVE_TABLES = 2
MOST_REHEARSED = 6
"""Tables that are rehearsed while a person waits; 66 of them took 42 s."""


# -- the schema -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Row:
    """One attribute as a form shows it.

    Attributes:
        name: What tables call it.
        question: What respondents are asked.
        levels: The possible answers, separated by commas; as they were declared where they are not simple words.
        declared: The attribute of the schema that it came from.
    """

    name: str = ""
    question: str = ""
    levels: str = ""
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fixed(self) -> bool:
        """Whether its levels stay as they were declared: numbers and dates have bins, and some levels hold commas."""
        return bool(self.declared) and not _simple(self.declared)

    def as_attribute(self) -> dict[str, Any]:
        """As a schema has it."""
        if not self.name.strip():
            raise InvalidInput("must not be empty", field="name", hint="Name the attribute, or remove its row")
        plain = {"kind": "categorical"} | dict(self.declared) | {"name": self.name.strip()}
        plain["description"] = self.question.strip()
        if not self.fixed:
            plain["levels"] = [level.strip() for level in self.levels.split(",") if level.strip()]
            if len(plain["levels"]) < 2:
                hint = "Separate the possible answers by commas"
                raise InvalidInput("needs at least two answers", field=plain["name"], hint=hint)
        return plain


def _simple(declared: Mapping[str, Any]) -> bool:
    return declared.get("kind") in _LEVELLED and not any("," in level for level in declared["levels"])


def rows_of(schema: Mapping[str, Any] | str) -> list[Row]:
    """The rows of a form, from a schema or from its text as YAML or JSON. Identifiers are skipped."""
    if isinstance(schema, str):
        schema = load_yaml(schema, field="schema")
    if not isinstance(schema, Mapping):
        hint = "Write a list of attributes, each with its kind, name and levels"
        raise InvalidInput("must be a schema", field="schema", hint=hint)
    domain = Domain.from_dict(dict(schema))
    declared = {plain["name"]: plain for plain in domain.as_dict()["attributes"]}
    return [
        Row(
            name=name,
            question=domain[name].description,
            levels=", ".join(domain[name].all_labels if not _simple(declared[name]) else declared[name]["levels"]),
            declared=declared[name],
        )
        for name in domain.countable
    ]


def schema_of(rows: Iterable[Row], title: str = "") -> dict[str, Any]:
    """The schema that the rows of a form are, checked."""
    attributes = [row.as_attribute() for row in rows]
    if not attributes:
        raise InvalidInput("must have at least one", field="attributes", hint="Add an attribute")
    return Domain.from_dict({"tacita": 1, "title": title, "attributes": attributes}).as_dict()


# -- the tables -------------------------------------------------------------------------------------------------------


def pairs_and_singles(names: Sequence[str]) -> tuple[list[Table], list[Table]]:
    """The tables that can be picked, and those that are picked at first: pairs while there are few."""
    pairs: list[Table] = [*combinations(names, 2)]
    singles: list[Table] = [(name,) for name in names]
    return [*pairs, *singles], pairs if 0 < len(pairs) <= _FEW_PAIRS else singles


def tables_after(
    picked: Iterable[Table], names: Sequence[str], renamed: Mapping[str, str], known: Sequence[str]
) -> list[Table]:
    """The tables that are picked once attributes were added, renamed or taken away.

    Args:
        picked: Those before.
        names: The attributes now.
        renamed: New names of some, by the old ones; one without an old name is new.
        known: The attributes before.
    """
    possible, usual = pairs_and_singles(names)
    order = {tuple(sorted(table)): table for table in possible}
    moved = {before: after for before, after in renamed.items() if before and before not in names}
    kept = [order.get(tuple(sorted(moved.get(name, name) for name in table))) for table in picked]
    new = set(names) - set(known) - set(moved.values())
    added = [table for table in usual if new & set(table)]
    return list(dict.fromkeys(table for table in [*kept, *added] if table is not None))


def not_asked(names: Sequence[str], tables: Iterable[Sequence[str]]) -> list[str]:
    """Attributes that no table holds: no one would be asked about them."""
    asked = {name for table in tables for name in table}
    return [name for name in names if name not in asked]


def tables_of(picked: Iterable[Sequence[str]], more: str, names: Sequence[str]) -> list[list[str]]:
    """Return the selected tables, and larger tables given as text: names joined by +, separated by commas."""
    found = [list(table) for table in picked if set(table) <= set(names)]
    for text in more.split(","):
        table = [name.strip() for name in text.split("+") if name.strip()]
        strange = [name for name in table if name not in names]
        if strange:
            hint = f"Join names by +, as in {' + '.join(list(names)[:3])}"
            raise InvalidInput("has an unknown attribute", field="larger tables", value=", ".join(strange), hint=hint)
        if table and sorted(table) not in [sorted(known) for known in found]:
            found.append(table)
    if not found:
        raise InvalidInput("must have at least one", field="tables", hint="Select the tables to be estimated")
    return found


def closing_time(text: str) -> dt.datetime | None:
    """A moment, UTC, from what a browser's field for date and time says; None for no text."""
    if not text.strip():
        return None
    try:
        found = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            "must be a date and a time", field="closes", value=text, hint="Write it as 2030-12-31 18:00"
        ) from None
    return found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found


# -- what to expect ---------------------------------------------------------------------------------------------------


def mode_taken(planned: Mapping[str, Any], tables: Sequence[Sequence[str]]) -> str:
    """The mode in which a plan was made, also if the planner chose it: views contain tables that were not asked for."""
    named = {frozenset(table) for table in tables}
    asked = [each["attributes"] for each in planned["questions"] if len(each["attributes"]) > 1]
    return "views" if any(frozenset(each) not in named for each in asked) else str(planned["mode"])


def error_curve(body: Mapping[str, Any], mode: str, along: Along) -> list[Curve]:
    """The predicted errors of the first tables, over respondents or over epsilon, the rest being as in the body.

    Args:
        body: What is sent to plan a campaign.
        mode: As `mode_taken` says it: nothing is rehearsed again.
        along: What changes.
    """
    places = RESPONDENTS if along == "respondents" else EPSILONS
    found: dict[Table, list[tuple[float, float]]] = {}
    for place in places:
        try:
            design = _design(dict(body) | {along: place}, mode)
        except TacitaError:  # some methods need more people, or more epsilon
            continue
        for prediction in design.predict()[:_CURVE_TABLES]:
            found.setdefault(prediction.attributes, []).append((place, prediction.published))
    return [
        Curve(label=" x ".join(table), x=[x for x, _ in points], y=[y for _, y in points])
        for table, points in list(found.items())[:_CURVE_TABLES]
    ]


def _design(body: Mapping[str, Any], mode: str) -> CollectionDesign:
    return plan_collection(
        Domain.from_dict(body["schema"]),
        Workload.of(*body["tables"]),
        respondents=int(body["respondents"]),
        epsilon=body["epsilon"],
        mode=mode,  # type: ignore[arg-type]
        answers=body.get("answers", "one"),
        channel=body.get("channel", "auto"),
        waves=body.get("waves", 1),
        turns=body.get("turns", 1),
    )


@dataclass(frozen=True, kw_only=True)
class Read:
    """One question as a respondent reads it.

    Attributes:
        asks: Questions, each with its possible answers.
        said: Description of the report that is sent.
        odds: The most that the answer changes the odds between any two truths.
        epsilon: The same as a loss.
        share: Of the respondents who are asked it.
    """

    asks: tuple[tuple[str, tuple[str, ...]], ...]
    said: str
    odds: float
    epsilon: float
    share: float


def read_by_respondents(body: Mapping[str, Any], mode: str) -> list[Read]:
    """Return the text of each question, from the questions that devices get."""
    design = _design(body, mode)
    found = []
    for number, asked in enumerate(design.questions):
        question = question_of("preview", number, replace(asked, block=1), design.domain, design.promise(number))
        found.append(
            Read(
                asks=tuple((ask.attribute, ask.levels) for ask in question.asks),
                said=question.channel.describe(question.cells),
                odds=float(question.channel.worst_ratio(question.cells)),
                epsilon=question.charge,
                share=asked.share,
            )
        )
    return found
