"""z-anonymity: tuples a second on one core and memory, beside the one public package and a plain program.

Streams are made up: users at random, values by a power law, times rising. Three windows: one that holds tens of
thousands of pairs of user and value (caches hold it), one that holds a million, and texts instead of numbers. The
package zanon gets an environment of its own under bench/.peers and a folder to write its files to; it tunes z as it
goes, which ours does not. The plain program is an ordered dict for each value.
"""

from __future__ import annotations

import json
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers import run_peer
from bench.rows import Row, cpu
from tacita.anonymize import ZAnonymity, chance_of_k

PACKAGES = ["zanon", "numpy", "scipy", "matplotlib"]
SEED = 20260801
Z = 10


def run(*, quick: bool) -> list[Row]:
    count = 1_000_000 if quick else 4_000_000
    rows = []
    ZAnonymity(z=Z, window=1).push_many(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))  # compile
    for name, users, values, window in (
        ("ten thousand users, five thousand values", 10_000, 5_000, 100_000),
        ("a million users, a hundred thousand values", 1_000_000, 100_000, 1_000_000),
    ):
        made = _simulated(count, users, values)
        seconds = cpu(lambda m=made, w=window: ZAnonymity(z=Z, window=w).push_many(*m), 3)[0]
        stream = ZAnonymity(z=Z, window=window)
        left = float(stream.push_many(*made).mean())
        note = f"{name}: {stream.pairs:,} pairs in the window, {left:.0%} of tuples leave"
        rows += [
            Row(bar=f"{name}: tuples", ours=count / seconds, unit="by cpu_s", goal=">= 1e6", note=note),
            Row(bar=f"{name}: bytes by pair", ours=stream.nbytes / stream.pairs, unit="bytes", goal="<= 512"),
        ]
    return [*rows, *_small(quick), *_memory(), *_chance()]


def _simulated(count: int, users: int, values: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(SEED)
    return np.sort(rng.integers(0, count, count)), rng.integers(0, users, count), rng.zipf(1.3, count) % values


def _small(quick: bool) -> list[Row]:
    """One tuple at a time, and texts, beside others."""
    count = 100_000
    times, who, what = _simulated(count, 5_000, 1_000)
    window = 20_000
    events = list(zip(times.tolist(), who.tolist(), what.tolist(), strict=True))
    texts = np.array([f"user {u}" for u in who.tolist()]), np.array([f"value {a}" for a in what.tolist()])

    def singly() -> list[bool]:
        stream = ZAnonymity(z=Z, window=window)
        return [stream.push(*event) for event in events]

    plain = cpu(lambda: _plain(events, window), 2)[0]
    single = cpu(singly, 2)[0]
    batch = cpu(lambda: ZAnonymity(z=Z, window=window).push_many(times, who, what), 3)[0]
    worded = cpu(lambda: ZAnonymity(z=Z, window=window).push_many(times, *texts), 3)[0]
    same = sum(a != b for a, b in zip(singly(), _plain(events, window), strict=True))
    rows = [
        Row(bar="arrays of texts: tuples", ours=count / worded, unit="by cpu_s"),
        Row(
            bar="one at a time: tuples",
            ours=count / single,
            peer=count / plain,
            peer_name="plain program",
            unit="by cpu_s",
        ),
        Row(bar="off what the plain program lets through", ours=same, unit="tuples", goal="= 0"),
    ]
    found = _peer(events[: 20_000 if quick else 100_000], window)
    bar = "in one batch: tuples"
    if isinstance(found, str):
        return [*rows, Row(bar=bar, ours=count / batch, peer_name=found, unit="by cpu_s")]
    name = "zanon 0.3.4, one level"
    return [*rows, Row(bar=bar, ours=count / batch, peer=found["speed"], peer_name=name, unit="by cpu_s", goal=">= 20")]


def _plain(events: list[tuple[int, int, int]], window: int) -> list[bool]:
    held: dict[int, OrderedDict[int, int]] = {}
    found = []
    for now, user, value in events:
        seen = held.setdefault(value, OrderedDict())
        seen.pop(user, None)
        seen[user] = now
        while next(iter(seen.values())) <= now - window:
            seen.popitem(last=False)
        found.append(len(seen) >= Z)
    return found


def _memory() -> list[Row]:
    """A long stream through a short window, with a bound that it reaches."""
    stream = ZAnonymity(z=Z, window=10**9, capacity=100_000)
    most = 0
    for turn in range(20):
        times, who, what = _simulated(100_000, 1_000_000, 10_000)
        stream.push_many(times + turn * 100_000, who + turn * 1_000_000, what)
        most = max(most, stream.nbytes)
    note = f"capacity: {stream.forgotten:,} pairs were forgotten early, so fewer tuples left"
    return [Row(bar="two million pairs, room for 100,000", ours=most / 2**20, unit="MiB", goal="<= 9.1", note=note)]


def _chance() -> list[Row]:
    shown = 1 - np.exp(-0.5 / np.arange(1, 201))
    low, high = chance_of_k(shown, users=5000, z=50, k=5)
    bar = "chance of k = 5 at z = 50, 5,000 users, 200 values: least"
    return [
        Row(bar=bar, ours=low, unit="share", note=f"chance of k: at most {high:.4f} under the model"),
        Row(bar="chance of k: width of what is not known", ours=high - low, unit="share", goal="<= 0.1"),
    ]


SCRIPT = """
import json, os, sys, time
os.environ["MPLBACKEND"] = "Agg"
os.chdir(sys.argv[1])  # it writes where it stands
from zanonymity.zanon import zanon
events = [(str(t), str(u), str(a)) for t, u, a in json.load(open("events.json"))]
made = zanon(int(sys.argv[2]), 0.8, 5)
start = time.process_time()
for event in events:
    made.anonymize(event)
print(json.dumps({"speed": len(events) / (time.process_time() - start)}))
"""


def _peer(events: list[tuple[int, int, int]], window: int) -> dict[str, Any] | str:
    """How fast the package is, or why it did not run."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "events.json").write_text(json.dumps([(t + 1, u, a) for t, u, a in events]))
        return run_peer("stream", PACKAGES, SCRIPT, [folder, str(window)])
