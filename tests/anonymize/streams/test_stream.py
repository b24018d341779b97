"""z-anonymity against its definition, event by event, and with little memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize.streams.stream import ZAnonymity
from tacita.errors import InvalidInput


def by_definition(events, z, window):
    """For each event, whether z users showed its value in the window that ends with it."""
    found = []
    for place, (now, _, value) in enumerate(events):
        users = {u for t, u, a in events[: place + 1] if a == value and now - window < t <= now}
        found.append(len(users) >= z)
    return found


@st.composite
def streams(draw):
    steps = draw(st.lists(st.integers(0, 4), min_size=0, max_size=60))
    times = np.cumsum(steps).tolist()
    return [(t, draw(st.integers(0, 5)), draw(st.integers(0, 3))) for t in times]


@settings(max_examples=300)
@given(events=streams(), z=st.integers(1, 5), window=st.integers(1, 25), cuts=st.integers(1, 60))
def test_what_leaves_is_what_the_definition_says(events, z, window, cuts):
    expected = by_definition(events, z, window)
    one = ZAnonymity(z=z, window=window)
    assert [one.push(*event) for event in events] == expected
    # in batches, and with texts for users and values
    many, texts = ZAnonymity(z=z, window=window), ZAnonymity(z=z, window=window)
    got, written = [], []
    for first in range(0, len(events), cuts):
        times, users, values = (np.array(c) for c in zip(*events[first : first + cuts], strict=True))
        got += many.push_many(times, users, values).tolist()
        written += texts.push_many(times, users.astype(str), [("value", int(a)) for a in values]).tolist()
    assert got == expected
    assert written == expected
    assert (
        many.pairs == one.pairs <= len({(u, a) for t, u, a in events if t > events[-1][0] - window} if events else ())
    )


@settings(max_examples=150)
@given(events=streams(), z=st.integers(1, 4), window=st.integers(1, 25), capacity=st.integers(1, 12))
def test_with_little_room_fewer_leave_and_never_more(events, z, window, capacity):
    stream = ZAnonymity(z=z, window=window, capacity=capacity)
    got = []
    for event in events:
        got.append(stream.push(*event))
        assert stream.pairs <= capacity
    expected = by_definition(events, z, window)
    assert all(truth or not left for left, truth in zip(got, expected, strict=True))
    if stream.forgotten == 0:
        assert got == expected


@settings(max_examples=150)
@given(events=streams(), z=st.integers(1, 4), window=st.integers(1, 25), seed=st.integers(0, 99))
def test_late_tuples_are_left_out_and_let_nothing_more_through(events, z, window, seed):
    order = np.random.default_rng(seed).permutation(len(events))
    shuffled = [events[place] for place in order]
    stream = ZAnonymity(z=z, window=window, late="suppress")
    got = stream.push_many(*(np.array(c, np.int64) for c in zip(*shuffled, strict=True)) if shuffled else ([], [], []))
    latest, kept = -1, []
    for event, left in zip(shuffled, got, strict=True):
        if event[0] < latest:
            assert not left
            continue
        latest = event[0]
        kept.append(event)
        assert left == by_definition(kept, z, window)[-1]
        now, _, value = event
        if left:
            assert len({u for t, u, a in shuffled if a == value and now - window < t <= now}) >= z


def test_a_late_tuple_is_refused_and_nothing_of_its_batch_is_taken_in():
    stream = ZAnonymity(z=2, window=10)
    assert stream.push_many([1, 2], [1, 2], [7, 7]).tolist() == [False, True]
    with pytest.raises(InvalidInput, match="times: must not fall"):
        stream.push_many([3, 1], [3, 4], [8, 8])
    with pytest.raises(InvalidInput, match="times: must not fall"):
        stream.push(1, 3, 8)
    assert not stream.push(3, 5, 8)  # users 3 and 4 were not counted


def test_the_window_is_open_at_its_old_end():
    stream = ZAnonymity(z=2, window=10)
    stream.push(0, "ann", "a")
    assert not stream.push(10, "bob", "a")
    stream = ZAnonymity(z=2, window=10)
    stream.push(0, "ann", "a")
    assert stream.push(9, "bob", "a")


def test_a_user_who_comes_back_counts_once_and_for_longer():
    stream = ZAnonymity(z=2, window=10)
    assert not any(stream.push(t, "ann", "a") for t in range(9))
    assert stream.push(17, "bob", "a")  # ann was last seen at 8
    assert not stream.push(28, "bob", "a")


def test_numbers_and_texts_are_different_users():
    stream = ZAnonymity(z=3, window=10)
    assert [stream.push(0, user, "a") for user in (1, "1", np.int64(1), True, b"1")] == [
        False,
        False,
        False,
        False,
        True,
    ]
    huge = ZAnonymity(z=2, window=10)
    assert [huge.push(0, user, 0) for user in (2**70, 2**70, -(2**63))] == [False, False, True]


@pytest.mark.parametrize("key", [None, 1.0, float("nan"), [1], ("a", None)])
def test_what_could_count_one_user_twice_is_refused(key):
    stream = ZAnonymity(z=2, window=10)
    with pytest.raises(InvalidInput, match="must be whole numbers, texts, bytes or tuples"):
        stream.push_many([0], [key], ["a"])
    with pytest.raises(InvalidInput, match="must be whole numbers, texts, bytes or tuples"):
        stream.push(0, "ann", key)


def test_memory_follows_the_window_and_not_the_stream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    stream = ZAnonymity(z=3, window=100, capacity=4096)
    most = 0
    for turn in range(40):
        times = turn * 1000 + np.sort(rng.integers(0, 1000, 5000))
        users = [f"u{u}" for u in rng.integers(0, 10**9, 5000)]
        stream.push_many(times, users, rng.integers(0, 50, 5000))
        assert stream.pairs <= 4096
        most = max(most, stream.nbytes, 72 * stream._users.size)
        assert stream._users.size <= 4 * stream.pairs + 1024 + 5000
    assert stream.forgotten == 0
    assert most <= 72 * 8192 + 4096
    stream.push_many(np.array([10**6]), np.array([1]), np.array([1]))
    assert stream.pairs == 1
    assert stream.values == 1
    assert stream.nbytes <= 72 * 1024 + 64
    assert stream._users.size <= 4 * stream.pairs + 1024
    assert list(tmp_path.iterdir()) == []


def test_a_large_stream_gives_what_a_plain_program_gives():
    rng = np.random.default_rng(2)
    n, z, window = 60_000, 4, 500
    times = np.sort(rng.integers(0, 10_000, n))
    users, values = rng.integers(-300, 300, n), rng.zipf(1.3, n) % 2000
    last, expected = {}, []
    for t, u, a in zip(times.tolist(), users.tolist(), values.tolist(), strict=True):
        seen = last.setdefault(a, {})
        seen[u] = t
        expected.append(sum(t - window < when for when in seen.values()) >= z)
    stream = ZAnonymity(z=z, window=window)
    assert stream.push_many(times, users, values).tolist() == expected
    assert 0.2 < np.mean(expected) < 0.95


def test_bad_options_are_refused():
    for wrong in ({"z": 0}, {"window": 0}, {"capacity": 0}, {"z": 2.5}, {"window": True}):
        with pytest.raises(InvalidInput, match="must be a whole number from 1"):
            ZAnonymity(**{"z": 2, "window": 10} | wrong)
    with pytest.raises(InvalidInput, match="late: must be refuse or suppress"):
        ZAnonymity(z=2, window=10, late="sort")
    stream = ZAnonymity(z=2, window=10)
    with pytest.raises(InvalidInput, match="times: must be whole numbers"):
        stream.push(0.5, 1, 1)
    with pytest.raises(InvalidInput, match="must be as many"):
        stream.push_many([1, 2], [1], [1])
    with pytest.raises(InvalidInput, match=r"within 2\*\*62"):
        stream.push(2**62, 1, 1)
