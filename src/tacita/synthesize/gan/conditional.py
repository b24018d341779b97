"""A conditional generator for tables of mixed types: rows begin with one attribute, and the others follow it.

    given      the attribute that is drawn first, by its released table; never by real frequencies
    tables     over the given attribute and every pair of others, so that dependence is measured for each of its levels
    critic     sees whole rows, hence also how the others follow the given one

Privacy, cost: see `adversarial`.   Claim: docs/claims/dp-sgd.md
Utility:  best for what is predicted: name it as `given`. A table of three costs as much as one of two, and where the
          given attribute has few levels its noise is hardly larger.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.gan.adversarial import Adversarial
from tacita.synthesize.marginals import pair_workload
from tacita.synthesize.plan import Key
from tacita.tables.workload import Workload

__all__ = ["ConditionalGan"]

_MOST_LEVELS = 16
"""Of a given attribute: each has tables of its own."""


@dataclass(frozen=True, kw_only=True)
class ConditionalGan(Adversarial):
    """See `Adversarial`.

    Args:
        given: Drawn first; if None, the attribute of the fewest levels, and the last of several.
    """

    given: str | None = None

    method = "conditional-gan"

    def given_of(self, domain: Domain, names: Key) -> str | None:
        """The one that was named, or the one of the fewest levels if they are few."""
        if self.given is not None:
            if self.given not in names:
                raise InvalidInput("must be one of the attributes", field="given", value=self.given)
            if domain[self.given].size > _MOST_LEVELS:
                rule = f"may have {_MOST_LEVELS} levels: each has tables of its own"
                raise InvalidInput(rule, field="given", value=domain[self.given].size)
            return self.given if len(names) > 2 else None
        fewest = min(reversed(names), key=lambda name: domain[name].size)
        return fewest if len(names) > 2 and domain[fewest].size <= _MOST_LEVELS else None

    def workload_of(self, names: Key, given: str | None) -> Workload:
        """All pairs, each with the given attribute."""
        others = tuple(name for name in names if name != given)
        if given is None or len(others) < 2:
            return pair_workload(names)
        return Workload.of(*((*pair, given) for pair in itertools.combinations(others, 2)))
