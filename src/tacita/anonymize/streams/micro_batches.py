"""Release a stream of rows in small k-anonymous batches.

    batches = MicroBatches(recipe.prepare(domain), least=200, deadline=60_000)      # times in milliseconds
    for result in batches.push(rows, now):                                          # none or one `Anonymized`
        ...

Rows are held back until those that are held can be released together: at least `least` people, and all conditions of
the recipe, counted on the rows to be released. At the first call at or after its deadline a row is released, with fewer
people if the recipe still holds, or is suppressed. So nothing is held for longer than the deadline and the time to the
next call; `tick` is that call when no rows come.

One person in several batches could be found by comparing them. The rule: a person who was released in one batch is not
released in another (`again="suppress"`), so no one is in two, and all batches together are as good as each. That takes
a person's key in the schema; rows without a key are suppressed. `remember` bounds how long people are remembered: then
the rule holds for batches less than that apart. With `again="each"` every batch is judged by itself, and nothing is
promised to people who are in several. The time of a batch reveals how fast rows came. docs/claims/k-anonymity.md says
what a batch promises.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import numpy as np
import pyarrow as pa

from tacita.anonymize.anonymize import AnonymizationPlan, Anonymized
from tacita.anonymize.quasi import read_distinct_rows
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput

__all__ = ["MicroBatches"]


class MicroBatches:
    """Rows that are held back, and people who were released.

    Args:
        plan: Recipe and conditions of a batch.
        least: Least people in a batch released before a deadline; k by default. With more people, less is lost.
        deadline: How long a row may be held, in the unit of the times.
        again: Treatment of rows of people who were released before: see the top of this file.
        remember: How long released people are remembered; without limit by default.
    """

    def __init__(
        self,
        plan: AnonymizationPlan,
        *,
        least: int | None = None,
        deadline: int,
        again: Literal["suppress", "each"] = "suppress",
        remember: int | None = None,
    ) -> None:
        k = plan.recipe.conditions.k
        if again not in ("suppress", "each"):
            raise InvalidInput("must be suppress or each", field="again", value=again)
        if again == "suppress" and plan.domain.person is None:
            raise InvalidInput(
                "needs a person's key in the schema, to know who was released",
                field="again",
                value=again,
                hint="Declare `person`, or say again='each' if no one can come back",
            )
        if least is not None and least < k:
            raise InvalidInput(f"must be k = {k} or more", field="least", value=least)
        if type(deadline) is not int or deadline < 0:
            raise InvalidInput("must be a whole number, 0 or more", field="deadline", value=deadline)
        if remember is not None and remember < deadline:
            raise InvalidInput("must not be shorter than the deadline", field="remember", value=remember)
        self.plan, self.least, self.deadline = plan, k if least is None else least, deadline
        self.again, self.remember = again, remember
        self.late = self.repeated = self.unkeyed = 0
        """Rows that were suppressed: past their deadline, of people already released, without a key."""
        self._held: pa.Table | None = None
        self._since = np.zeros(0, np.int64)
        self._left: OrderedDict[str, int] = OrderedDict()  # when each person was released, the earliest first
        self._now: int | None = None

    @property
    def held(self) -> int:
        """Rows that are held back."""
        return len(self._since)

    @property
    def now(self) -> int | None:
        """The latest time that was given."""
        return self._now

    @property
    def remembered(self) -> int:
        """People who were released and are remembered."""
        return len(self._left)

    def push(self, rows: pa.Table, now: int) -> list[Anonymized]:
        """Take rows in; return the batch that is released because of that, if any.

        Args:
            rows: With all columns that the plan reads.
            now: When they came; not before any time that was given earlier.
        """
        chosen = rows.select(list(self.plan.reading)).combine_chunks()
        recipe = self.plan.recipe
        read_distinct_rows(  # refuses out-of-domain values before they are mixed with others
            self.plan.domain, chosen, self.plan.quasi, sensitive=self.plan.sensitive, hierarchies=recipe.hierarchies
        )
        if self._held is not None and chosen.schema != self._held.schema:
            raise InvalidInput("columns must have the types that they had before", field="rows")
        self._move_to(now)
        if self.again == "suppress":
            keys = self._keys(chosen)
            known = np.array([key is not None for key in keys], np.bool_)
            new = np.array([key not in self._left for key in keys], np.bool_)
            self.unkeyed += int((~known).sum())
            self.repeated += int((known & ~new).sum())
            chosen = chosen.filter(pa.array(known & new))
        self._held = chosen if self._held is None else pa.concat_tables([self._held, chosen])
        self._since = np.append(self._since, np.full(chosen.num_rows, now, np.int64))
        return self._release(now)

    def tick(self, now: int) -> list[Anonymized]:
        """Let time pass; return the batch that is released because of that, if any."""
        self._move_to(now)
        return self._release(now)

    def _move_to(self, now: int) -> None:
        if type(now) is not int or (self._now is not None and now < self._now):
            raise InvalidInput("must be a whole number that does not fall", field="now", value=now)
        self._now = now
        if self.remember is not None:
            while self._left and next(iter(self._left.values())) <= now - self.remember:
                self._left.popitem(last=False)

    def _release(self, now: int) -> list[Anonymized]:
        if self._held is None or not self.held:
            return []
        due = self._since <= now - self.deadline
        if self._people() >= (self.plan.recipe.conditions.k if due.any() else self.least):
            try:
                result = self.plan.run_on(self._held)
            except InvalidInput as refused:
                if refused.field not in ("k", "conditions"):
                    raise
            else:
                if self.again == "suppress":
                    self._left |= {key: now for key in self._keys(self._held) if key is not None}
                self._keep(np.zeros(self.held, np.bool_))
                return [result]
        self.late += int(due.sum())
        self._keep(~due)
        return []

    def _keep(self, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        assert self._held is not None
        self._held, self._since = self._held.filter(pa.array(which)), self._since[which]

    def _keys(self, rows: pa.Table) -> list[str | None]:
        person = self.plan.domain.person
        assert person is not None
        keys: list[str | None] = key_texts(rows.column(person), self.plan.domain.nulls, person).to_pylist()
        return keys

    def _people(self) -> int:
        if self.plan.domain.person is None:
            return self.held
        assert self._held is not None
        return len(set(self._keys(self._held)) - {None})
