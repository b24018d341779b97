"""Interface of a consent manager: it states whose data may be used for a purpose, now.

Anything that stores consents can implement it: a file (`records`), a database, a service. It is asked once for each
reading of the data and answers with one state, so that a person is wholly in or wholly out. A person that it does not
know has not consented.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

__all__ = ["ConsentFilter", "Who"]

Who: TypeAlias = Callable[[Sequence[str]], Sequence[bool]]
"""Whether each of some persons, by the text of their keys, may be used."""


class ConsentFilter(Protocol):
    """A consent manager."""

    def who(self, purpose: str, at: dt.datetime) -> Who:
        """Return whose data may be used for a purpose at a moment.

        Raises:
            SourceUnavailable, DataError: It cannot answer; then no one's data may be used.
        """
