"""The base of all masking methods: name, parameters with help and bounds, checks, and what it does to columns.

A method is a frozen dataclass in a file of its own and a line in `registry`. Its fields with `described` metadata are
the parameters that the command line, REST requests and plans take (`text`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.parameters import described, parameters_of
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["Effect", "MaskingMethod"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Effect:
    """Effect of a step.

    Attributes:
        columns: The rows after it.
        figures: Figures of the step, as plain data; from exact rows, unless the step randomises.
        notes: Sentences for the reader of the result.
        published: What must be released with the rows, by attribute: matrices of randomisation.
    """

    columns: Columns
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MaskingMethod:
    """One step of masking.

    Attributes:
        step: Name on every surface: the option `--step`, the member of a request, the key in a plan.
        summary: One sentence.
        main: Parameter whose value follows the `=` in a text.
        form: An example of that text.
        kinds: Kinds of attribute that it masks.
        randomises: Whether the values that it releases are drawn by a channel that is published.
    """

    step: ClassVar[str]
    summary: ClassVar[str]
    main: ClassVar[str]
    form: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    randomises: ClassVar[bool] = False

    attributes: tuple[str, ...] = field(metadata=described("Attributes that are masked."))

    def __post_init__(self) -> None:
        names = self.attributes
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InvalidInput("must be a list of names", field="attributes", value=names)
        object.__setattr__(self, "attributes", tuple(names))
        twice = next((name for name in self.attributes if self.attributes.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is named twice", field=self.step, value=twice)
        self.check()

    def check(self) -> None:
        """Refuse parameters that cannot be."""

    def resolve(self, domain: Domain) -> MaskingMethod:
        """Return the step for a domain, after checking the names and kinds of its attributes."""
        if not self.attributes:
            raise InvalidInput("must name at least one attribute", field=self.step, hint=f"For example {self.form}")
        for name in self.attributes:
            attribute = domain[name]
            if attribute.kind == "identifier" or attribute.role == "identifier" or name == domain.person:
                raise InvalidInput("an identifier is never released, nor can it be masked", field=name)
            if attribute.kind not in self.kinds:
                hint = f"{self.step} is for attributes of kind {', '.join(self.kinds)}"
                raise InvalidInput(f"is {attribute.kind}", field=f"{self.step}: {name}", hint=hint)
        return self

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Mask the columns."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as a plan has it."""
        kind: Any = type(self)
        own = {each.name: getattr(self, each.name) for each in parameters_of(kind)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
        return {self.step: {name: value for name, value in plain.items() if value is not None}}
