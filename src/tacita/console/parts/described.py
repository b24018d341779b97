"""A form for any kind of release, made from the schema of its request that the server lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacita.console.look import kit
from tacita.console.parts.asking import ExpectedRelease, ReleaseForm
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["SchemaForm", "member_field", "member_type"]

_ATTRIBUTES = {"columns", "attributes", "features", "values", "keep"}
_ATTRIBUTE = {"column", "target", "time", "item", "sum", "weight"}
_ELSEWHERE = {"dataset", "budget", "purpose"}
_NO_GUARANTEE = "No privacy guarantee: assess the rows before you share them."
Reader = Callable[[], Any]


def member_type(member: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a member without the alternative that it is null."""
    options = [each for each in member.get("anyOf", [member]) if each.get("type") != "null"]
    return {**member, **options[0]}


@dataclass
class SchemaForm(ReleaseForm):
    """A release whose form follows the schema of its request.

    Attributes:
        info: Name, summary and schema of the kind, as `GET /v1/releases/kinds` lists them.
    """

    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readers: dict[str, Reader] = {}

    @property
    def about(self) -> str:  # type: ignore[override]
        """Description of this kind of release."""
        return f"{self.info['summary']}."

    @property
    def members(self) -> Mapping[str, Any]:
        """Members of the request, by name."""
        found: Mapping[str, Any] = self.info["request"]["properties"]
        return found

    def fields(self) -> None:
        """Show one field for each member that has one."""
        self.readers = {}
        if "budget" in self.members:
            with kit.row():
                self.spend_field()
        with kit.row():
            for name, member in self.members.items():
                read = None if name in _ELSEWHERE else member_field(name, member_type(member), self.domain, self.change)
                if read is not None:
                    self.readers[name] = read

    def body(self) -> dict[str, Any]:
        """Return the request; empty fields are left out."""
        given = {name: read() for name, read in self.readers.items()}
        known = {name: value for name, value in given.items() if value is not None}
        for name in self.info["request"].get("required", ()):
            if name not in known and name not in _ELSEWHERE:
                raise InvalidInput("must not be empty", field=name)
        paid = {"budget": self.budget()} if "budget" in self.members else {}
        return {"dataset": self.dataset} | paid | known

    async def expect(self) -> ExpectedRelease:
        """The plan, as the server states it."""
        plan = await self.api.post(f"/v1/releases/{self.info['name']}/plan", self.body())
        if "account_cost" not in plan:
            shown = ("attributes", "replaced", "steps")
            facts = {name.capitalize(): ", ".join(plan[name]) for name in shown if plan.get(name)}
            note = " ".join((_NO_GUARANTEE, *plan.get("warnings", ())))
            return ExpectedRelease(cost="nothing", charged=0.0, affordable=True, facts=facts, note=note)
        cost, charged, affordable = self.paid(plan)
        return ExpectedRelease(
            cost=cost, charged=charged, affordable=affordable, facts={"Protection": self.protected()}
        )

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post(f"/v1/releases/{self.info['name']}", self.body(), key=key)
        return job


def member_field(name: str, member: Mapping[str, Any], domain: Domain | None, change: kit.Handler) -> Reader | None:
    """Show the field of a member; return how to read it, or None if a form cannot show it.

    Args:
        name: The member of the request.
        member: Its JSON schema.
        domain: Attributes to choose from, for members that name attributes.
        change: Called after each change.
    """
    label, words = name.replace("_", " ").capitalize(), str(member.get("description", ""))
    kind, default = member.get("type"), member.get("default")
    if "const" in member or kind == "boolean":
        box = kit.checkbox(words or label, bool(default), key=name, change=change)
        return lambda: True if box.value else (None if "const" in member else False)
    if "enum" in member:
        chosen = kit.choice(label, list(member["enum"]), default, words=words, change=change)
        return lambda: chosen.value
    if kind in ("integer", "number"):
        ends = {"low": member.get("minimum"), "high": member.get("maximum")}
        number = kit.number(label, default, step=1 if kind == "integer" else None, words=words, change=change, **ends)
        return lambda: None if number.value is None else (int if kind == "integer" else float)(number.value)
    if domain and kind == "array" and name in _ATTRIBUTES:
        several = kit.choice(label, list(domain.countable), [], several=True, words=words, change=change)
        return lambda: list(several.value) or None
    if kind == "array" and "prefixItems" in member:  # a fixed number of numbers, such as n and k of a rule
        pair = kit.field(label, "", words=f"{words} Separated by commas.".strip(), change=change)
        return lambda: _numbers(pair.value, label)
    if kind == "array":
        return _list_field(label, member_type(member["items"]), words, change)
    if domain and kind == "string" and name in _ATTRIBUTE:
        one = kit.choice(label, ["", *domain.countable], "", words=words, change=change)
        return lambda: one.value or None
    if kind == "string":
        text = kit.field(label, default or "", words=words, change=change)
        return lambda: text.value.strip() or None
    return None


def _list_field(label: str, item: Mapping[str, Any], words: str, change: kit.Handler) -> Reader | None:
    """Lists of texts or numbers have one item in each line; lists of lists a list with commas in each line."""
    kind, inner = item.get("type"), member_type(item.get("items", {})).get("type")
    read: Callable[[str], Any]
    if kind == "string":
        read = str
    elif kind in ("integer", "number"):
        read = int if kind == "integer" else float
    elif kind == "array" and inner == "string":
        read = _parts
    else:
        return None
    text = kit.lines(label, "", words=f"{words} One per line.".strip(), change=change)

    def lines() -> list[Any] | None:
        try:
            return [read(line.strip()) for line in text.value.splitlines() if line.strip()] or None
        except ValueError:
            raise InvalidInput("must be numbers, one per line", field=label) from None

    return lines


def _parts(line: str) -> list[str]:
    return [part.strip() for part in line.split(",") if part.strip()]


def _numbers(text: str, label: str) -> list[float] | None:
    """Numbers with commas; whole ones stay whole."""
    try:
        return [int(part) if part.isdigit() else float(part) for part in _parts(text)] or None
    except ValueError:
        raise InvalidInput("must be numbers, separated by commas", field=label) from None
