"""z-anonymity [Jha et al. 2020]: let a tuple of a stream through when enough users have just shown the same value.

A tuple (t, u, a) says that user u showed value a at time t. It is released at once, or never: exactly when at
least z different users, u among them, showed a in (t - window, t], of what has come so far.

    stream = ZAnonymity(z=20, window=3_600_000)        # times in milliseconds
    stream.push(time, user, value)                     # one tuple: True when it may be released
    stream.push_many(times, users, values)             # many, in the order of time: a mask

Memory: one entry for each pair of user and value that the window holds, however many tuples there were, and never more
than `capacity` entries. When there would be more, the pair that was seen longest ago is forgotten: then fewer tuples
are released, never more. Nothing is written anywhere.

Time: a tuple that is older than one before it is refused, and nothing of its batch is taken in; with
`late="suppress"` it is neither counted nor let through, which again can only release fewer.

The promise is about single values, not about combinations of them, and it is no differential privacy. For the chance
that users are alike on all released values, see `tacita.anonymize.streams.stream_chance`. docs/claims/z-anonymity.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.window_pairs import (
    FORGOTTEN,
    PAIRS,
    USER,
    VALUE,
    VALUES,
    Window,
    new_window,
    refill,
    take,
)
from tacita.errors import InvalidInput

__all__ = ["ZAnonymity"]

Ints = NDArray[np.int64]
_RANGE = 2**62  # whole numbers below it, and above its negative, stand for themselves
_FIRST = 1024  # slots to begin with


class ZAnonymity:
    """A stream, and what its window holds.

    Args:
        z: Least users who showed the same value.
        window: How long a showing counts, in the unit of the times; whole.
        capacity: Most pairs of user and value that are remembered.
        late: Treatment of a tuple that comes after a younger one.
    """

    def __init__(
        self,
        *,
        z: int,
        window: int,
        capacity: int = 2**22,
        late: Literal["refuse", "suppress"] = "refuse",
    ) -> None:
        for name, number in (("z", z), ("window", window), ("capacity", capacity)):
            if not isinstance(number, int | np.integer) or isinstance(number, bool) or not 1 <= number < _RANGE:
                raise InvalidInput("must be a whole number from 1 to below 2**62", field=name, value=number)
        if capacity > 2**30:
            raise InvalidInput("must be at most 2**30", field="capacity", value=capacity)
        if late not in ("refuse", "suppress"):
            raise InvalidInput("must be refuse or suppress", field="late", value=late)
        self.z, self.window, self.capacity, self.late = int(z), int(window), int(capacity), late
        self._latest = -_RANGE
        self._state: Window = new_window(min(_FIRST, _power(self.capacity)))
        self._users, self._values = _Codes(), _Codes()
        self._one_time, self._one_user, self._one_value = (np.zeros(1, np.int64) for _ in range(3))
        self._one_found = np.zeros(1, np.bool_)

    @property
    def pairs(self) -> int:
        """Pairs of user and value that are remembered; some may be out of the window until the next tuple comes."""
        return int(self._state.head[PAIRS])

    @property
    def values(self) -> int:
        """Values that are remembered."""
        return int(self._state.head[VALUES])

    @property
    def forgotten(self) -> int:
        """Pairs that were given up early, because there were more than `capacity`. While it is 0 all is exact."""
        return int(self._state.head[FORGOTTEN])

    @property
    def nbytes(self) -> int:
        """Bytes that the window takes: 72 for each slot.

        There are at most 8 slots for each pair, or 1,024, and never more than the power of two at or above `capacity`.
        """
        return sum(int(array.nbytes) for array in self._state)

    def push(self, time: int, user: Hashable, value: Hashable) -> bool:
        """Whether this tuple may be released; it counts for those that follow."""
        if type(time) is not int or not self._latest <= time < _RANGE:
            return bool(self.push_many([time], [user], [value])[0])  # which says what is wrong
        self._one_time[0] = time
        self._one_user[0], self._one_value[0] = self._users.code(user), self._values.code(value)
        self._fill(self._one_time, self._one_user, self._one_value, self._one_found)
        self._latest = time
        return bool(self._one_found[0])

    def push_many(self, times: Any, users: Any, values: Any) -> NDArray[np.bool_]:
        """Mark the tuples that may be released, each judged by itself and what came before it.

        Args:
            times: Whole numbers that do not fall.
            users: Whole numbers, texts, bytes or tuples of these; an array of whole numbers is fastest.
            values: The same.
        """
        when = _times(times)
        if not len(when) == len(users) == len(values):
            raise InvalidInput("times, users and values must be as many", field="times", value=len(when))
        keep = None
        known = np.maximum.accumulate(np.concatenate([[self._latest], when]))[:-1] if len(when) else when
        if (when < known).any():
            if self.late == "refuse":
                raise InvalidInput(
                    "must not fall",
                    field="times",
                    hint="Sort the tuples, or say late='suppress' to leave out those that come late",
                )
            keep = when >= known
        who, what = self._users.encode(users), self._values.encode(values)
        chosen = (when, who, what) if keep is None else (when[keep], who[keep], what[keep])
        published = np.zeros(len(chosen[0]), np.bool_)
        self._fill(*chosen, published)
        if len(when):
            self._latest = max(self._latest, int(when.max()))
        if keep is None:
            return published
        found = np.zeros(len(when), np.bool_)
        found[keep] = published
        return found

    def _fill(self, times: Ints, users: Ints, values: Ints, published: NDArray[np.bool_]) -> None:
        done = 0
        while True:
            done = take(self._state, times, users, values, done, self.z, self.window, self.capacity, published)
            if done == len(published):
                break
            self._state = refill(self._state, 2 * len(self._state.pairs))
        self._tidy()

    def _tidy(self) -> None:
        """Give back room that is not needed, and forget the codes of users and values that are gone."""
        slots = len(self._state.pairs)
        if slots > _FIRST and 8 * self.pairs < slots:
            self._state = refill(self._state, max(_FIRST, 2 * _power(self.pairs)))
        if max(self._users.size, self._values.size) > 4 * self.pairs + _FIRST:
            held = self._state.slots[self._state.slots >= 0]
            self._users.keep(self._state.pairs[held, USER])
            self._values.keep(self._state.pairs[held, VALUE])


def _power(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _times(times: Any) -> Ints:
    found = np.asarray(times)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InvalidInput("must be whole numbers", field="times", value=str(found.dtype), hint="Say milliseconds")
    if int(found.max()) >= _RANGE or int(found.min()) <= -_RANGE:
        raise InvalidInput("must lie within 2**62 of 0", field="times")
    return found.astype(np.int64)


def _check_key(key: object) -> None:
    """Refuse what may be unequal to itself or equal to another kind: it would count one user twice."""
    if isinstance(key, tuple):
        for part in key:
            _check_key(part)
    elif not isinstance(key, int | np.integer | str | bytes):
        raise InvalidInput(
            "must be whole numbers, texts, bytes or tuples of these, and not missing",
            field="users, values",
            value=type(key).__name__,
            hint="Leave out what is missing, and give the text of anything else",
        )


class _Codes:
    """Numbers for keys. Whole numbers are their own; the others get numbers below all of those.

    A number is never given twice, so what was forgotten is not taken for something else.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._next = -(2**63)

    @property
    def size(self) -> int:
        """Number of known keys."""
        return len(self._known)

    def encode(self, keys: Any) -> Ints:
        """The numbers of some keys."""
        if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu":
            inside = keys.size == 0 or (int(keys.max()) < _RANGE and int(keys.min()) > -_RANGE)
            if inside:
                return np.ascontiguousarray(keys, np.int64)
        if isinstance(keys, np.ndarray) and keys.dtype.kind in "US":
            distinct, which = np.unique(keys, return_inverse=True)
            return self._each(distinct.tolist())[which.reshape(-1)]
        return self._each(keys.tolist() if isinstance(keys, np.ndarray) else keys)

    def _each(self, keys: Iterable[Hashable]) -> Ints:
        return np.array([self.code(key) for key in keys], np.int64)

    def code(self, key: Hashable) -> int:
        """The number of a key."""
        _check_key(key)
        if isinstance(key, int | np.integer) and -_RANGE < key < _RANGE:
            return int(key)
        code = self._known.get(key)
        if code is None:
            code = self._known[key] = self._next
            self._next += 1
        return code

    def keep(self, codes: Ints) -> None:
        """Forget all but these."""
        held = set(codes[codes <= -_RANGE].tolist())
        self._known = {key: code for key, code in self._known.items() if code in held}
