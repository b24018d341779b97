"""The window of pairs, against a dictionary of last times."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize.kernels.window_pairs import FORGOTTEN, PAIRS, VALUES, new_window, refill, take


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=80),
    z=st.integers(1, 4),
    span=st.integers(1, 6),
    capacity=st.sampled_from([3, 100]),
)
def test_pairs_of_the_window_are_those_seen_last_within_it(steps, z, span, capacity):
    times = np.cumsum([gap for gap, _, _ in steps])
    users = np.array([user for _, user, _ in steps])
    values = np.array([value for _, _, value in steps])
    published = np.zeros(len(steps), np.bool_)
    window, at, slots = new_window(2), 0, 2
    while at < len(steps):  # with more room whenever it runs out
        at = take(window, times, users, values, at, z, span, capacity, published)
        if at < len(steps):
            slots *= 2
            window = refill(window, slots)
    last: dict[tuple[int, int], int] = {}
    forgotten = 0
    for i, (now, user, value) in enumerate(zip(times.tolist(), users.tolist(), values.tolist(), strict=True)):
        last = {pair: time for pair, time in last.items() if time > now - span}
        if (user, value) not in last and len(last) >= capacity:
            last.pop(next(iter(last)))  # in the order in which they were seen last
            forgotten += 1
        last.pop((user, value), None)
        last[user, value] = now
        assert published[i] == (sum(1 for _, other in last if other == value) >= z)
    assert window.head[PAIRS] == len(last)
    assert window.head[VALUES] == len({value for _, value in last})
    assert window.head[FORGOTTEN] == forgotten
