"""Frequency oracles, means and curves: times, error against theory, coverage and exact losses, beside peers.

Settings: Zipf(1.1) over k = 1000 levels, epsilon 1, a million respondents (fewer with --quick; times are then scaled up
linearly, which work for each report justifies). pure-ldp and multi-freq-ldpy do not run on current versions: they get
an old environment of their own under bench/.peers, made once, and are asked for few users, scaled up linearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp

from bench.peers import run_peer
from bench.rows import Row, cpu
from tacita.collect import (
    DuchiMean,
    HadamardResponse,
    HybridMean,
    LocalHashing,
    PiecewiseMean,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    geometric_channel,
    norm_sub,
)
from tacita.noise import SecureSource, SeededSource
from tacita.testing.channel import coverage, error_over_theory, worst_ratio, zipf

LEVELS, EPSILON, MILLION = 1000, 1.0, 10**6
PACKAGES = ["numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.5.2", "xxhash==3.8.2", "pandas<3", "numba==0.60.0"]
PACKAGES += ["statsmodels", "pure-ldp", "multi-freq-ldpy"]
Maker = Callable[[int, float], Any]
ORACLES: dict[str, Maker] = {
    "k-RR": lambda k, e: RandomizedResponse.k_ary(levels=k, epsilon=e),
    "Hadamard": lambda k, e: HadamardResponse.of(levels=k, epsilon=e),
    "OLH": lambda k, e: LocalHashing.optimised(levels=k, epsilon=e),
    "OUE": lambda k, e: UnaryEncoding.optimised(levels=k, epsilon=e),
    "SUE": lambda k, e: UnaryEncoding.symmetric(levels=k, epsilon=e),
    "subset selection": lambda k, e: SubsetSelection.of(levels=k, epsilon=e),
}
GOALS = {"k-RR": "<= 0.1", "Hadamard": "<= 0.1", "OLH": "<= 2", "OUE": "<= 7"}
PARTS = {
    ("OUE", "encode"): "<= 6",
    ("OUE", "aggregate"): "<= 1",
    ("OLH", "encode"): "<= 0.1",
    ("OLH", "aggregate"): "<= 2",
}


def run(*, quick: bool) -> list[Row]:
    people = MILLION // 5 if quick else MILLION
    speed, seconds = _speed(people)
    return [
        *speed,
        *_peers(seconds),
        _opendp(seconds["SUE", "encode"]),
        *_errors(people, runs=2 if quick else 4),
        _published(),
        *_square_wave(10 if quick else 40),
        *_means(people),
        _epsilon(),
        *_coverage(100 if quick else 1000),
    ]


# -- speed ---------------------------------------------------------------------------------------------------


def _speed(people: int) -> tuple[list[Row], dict[tuple[str, str], float]]:
    values = np.random.default_rng(1).choice(LEVELS, people, p=zipf(LEVELS))
    source, rows, seconds = SecureSource(), [], {}
    note = "CPU seconds for a million users, one thread, secure keystream, compilation not counted"
    note += "" if people == MILLION else f"; {people:,} users, scaled up"
    for name, make in ORACLES.items():
        channel = make(LEVELS, EPSILON)
        channel.tally(channel.randomize(values[:1000], source))
        reports = channel.randomize(values, source)
        encode = cpu(lambda c=channel: c.randomize(values, source), 3)[0] * MILLION / people
        aggregate = cpu(lambda c=channel, r=reports: c.estimate(c.tally(r)), 3)[0] * MILLION / people
        for part, ours in (("encode", encode), ("aggregate", aggregate)):
            seconds[name, part] = ours
            goal = PARTS.get((name, part), "shown")
            rows.append(Row(bar=f"{name}, {part} 1e6, k = 1000", ours=ours, unit="cpu_s", goal=goal, note=note))
        bar, goal = f"{name}, encode + aggregate 1e6, k = 1000", GOALS.get(name, "shown")
        rows.append(Row(bar=bar, ours=encode + aggregate, unit="cpu_s", goal=goal, note=note))
    return rows, seconds


def _opendp(ours: float) -> Row:
    bar = "SUE, encode 1e6, k = 1000, against bit-vector response"
    try:
        dp.enable_features("contrib")
        channel, few = UnaryEncoding.symmetric(levels=LEVELS, epsilon=EPSILON), 500
        flip = 2 * channel.off / 2**53
        domain, metric = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
        peer = dp.m.make_randomized_response_bitvec(domain, metric, f=flip)
        vector = np.packbits(np.eye(1, LEVELS, dtype=np.uint8)[0]).tobytes()
        theirs = cpu(lambda: [peer(vector) for _ in range(few)], 2)[0] * MILLION / few
    except Exception as error:
        return Row(bar=bar, ours=ours, peer_name=f"opendp: {error}"[:80], unit="cpu_s")
    note = f"OpenDP answers one at a time; {few} answers, scaled up"
    return Row(bar=bar, ours=ours, peer=theirs, peer_name=f"opendp {version('opendp')}", unit="cpu_s", note=note)


# The peers' own interfaces, one user at a time; k = 1000, epsilon 1. Prints CPU seconds for a million users.
SCRIPT = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
values = [int(v) for v in np.random.default_rng(1).integers(0, 1000, 20000)]
out = {}

def clock(name, few, encode, aggregate):
    try:
        aggregate([encode(v) for v in values[:3]])  # what is compiled or loaded at first use is not timed
        start = time.process_time()
        reports = [encode(v) for v in values[:few]]
        middle = time.process_time()
        aggregate(reports)
        end = time.process_time()
        out[name] = [(middle - start) * 1e6 / few, (end - middle) * 1e6 / few]
    except Exception as error:
        out[name] = repr(error)[:80]

def pure():
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
    same = lambda v: v
    def feed(server):
        def aggregate(reports):
            for report in reports:
                server.aggregate(report)
            server.estimate_all(range(1000), suppress_warnings=True)
        return aggregate
    both = dict(epsilon=1.0, d=1000, use_olh=True, index_mapper=same)
    clock("pure-ldp OLH", few_slow, LHClient(**both).privatise, feed(LHServer(**both)))
    both = dict(epsilon=1.0, d=1000, use_oue=True, index_mapper=same)
    clock("pure-ldp OUE", few_fast, UEClient(**both).privatise, feed(UEServer(**both)))

def multi():
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client, LH_Aggregator_MI
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client, UE_Aggregator_MI
    clock("multi-freq-ldpy OLH", few_slow, lambda v: LH_Client(v, 1000, 1.0, optimal=True),
          lambda reports: LH_Aggregator_MI(reports, 1000, 1.0, optimal=True))
    clock("multi-freq-ldpy OUE", few_fast, lambda v: UE_Client(v, 1000, 1.0, optimal=True),
          lambda reports: UE_Aggregator_MI(reports, 1.0, optimal=True))

few_slow, few_fast = 2000, 20000
for name, part in (("pure-ldp", pure), ("multi-freq-ldpy", multi)):
    try:
        part()
    except Exception as error:
        out[name + " OLH"] = out[name + " OUE"] = repr(error)[:80]
json.dump(out, sys.stdout)
"""


def _peers(seconds: dict[tuple[str, str], float]) -> list[Row]:
    found = run_peer("ldp", PACKAGES, SCRIPT, [])
    note = "peers: 2,000 (OLH) and 20,000 (OUE) users one at a time in an old pinned environment, scaled up linearly"
    rows = []
    for peer in ("pure-ldp", "multi-freq-ldpy"):
        for oracle in ("OLH", "OUE"):
            times = found if isinstance(found, str) else found.get(f"{peer} {oracle}", "not run")
            for number, part in enumerate(("encode", "aggregate")):
                goal = "<= 0.01" if (oracle, part) == ("OLH", "aggregate") else "shown"
                bar, ours = f"{oracle}, {part} 1e6, k = 1000, against {peer}", seconds[oracle, part]
                if isinstance(times, str):
                    rows.append(Row(bar=bar, ours=ours, peer_name=f"{peer}: {times}", unit="cpu_s"))
                else:
                    rows.append(
                        Row(bar=bar, ours=ours, peer=times[number], peer_name=peer, unit="cpu_s", goal=goal, note=note)
                    )
    return rows


# -- error ---------------------------------------------------------------------------------------------------


def _errors(people: int, runs: int) -> list[Row]:
    found = {name: error_over_theory(make(LEVELS, EPSILON), people=people, runs=runs) for name, make in ORACLES.items()}
    note = f"mean squared error over predicted variance, {runs} collections of {people:,}, k = 1000, epsilon 1"
    rows = [Row(bar=f"{name}, error over theory", ours=ratio, unit="ratio", note=note) for name, ratio in found.items()]
    for name, figure, goal in (("lowest", min(found.values()), ">= 0.9"), ("highest", max(found.values()), "<= 1.1")):
        rows.append(Row(bar=f"all oracles, {name} error over theory", ours=figure, unit="ratio", goal=goal, note=note))
    return rows


def _published() -> Row:
    channel = UnaryEncoding.optimised(levels=LEVELS, epsilon=EPSILON)
    errors = []
    for seed in range(5):
        values = np.random.default_rng(seed).choice(LEVELS, MILLION, p=zipf(LEVELS))
        truth = np.bincount(values, minlength=LEVELS) / MILLION
        found = channel.estimate(channel.tally(channel.randomize(values, SeededSource(seed)))).frequencies
        errors.append(float(((norm_sub(found).frequencies - truth) ** 2).mean()))
    note = f"norm-sub of OUE, n = 1e6 always, mean of 5 collections (largest {max(errors):.2g})"
    bar = "published frequencies, mean squared error"
    return Row(bar=bar, ours=float(np.mean(errors)), unit="squared share", goal="<= 1.0e-6", note=note)


def _square_wave(runs: int) -> list[Row]:
    channel, distances, seconds = SquareWave.of(levels=256, epsilon=1.0), {"ems": [], "em": []}, []
    channel.randomize(np.zeros(10, dtype=np.int64), SecureSource())
    for seed in range(1000, 1000 + runs):  # not the seeds that were looked at when the stopping rule was set
        bins = np.minimum((np.random.default_rng(seed).beta(5, 2, 10**5) * 256).astype(np.int64), 255)
        truth = np.bincount(bins, minlength=256) / bins.size
        source = SeededSource(seed)
        seconds.append(cpu(lambda b=bins, s=source: channel.distribution(channel.tally(channel.randomize(b, s))), 1)[0])
        tally = channel.tally(channel.randomize(bins, SeededSource(seed)))
        for method, found in distances.items():
            fitted = channel.distribution(tally, method=method).frequencies
            found.append(float(np.abs(np.cumsum(fitted - truth)).mean()))
    note = f"Beta(5, 2), n = 1e5, 256 bins, epsilon 1, {runs} collections"
    ems = distances["ems"]
    return [
        Row(bar="Square Wave + EMS, mean W1", ours=float(np.mean(ems)), unit="W1", goal="<= 0.006", note=note),
        Row(bar="Square Wave + EMS, W1 <= 0.006", ours=float(np.mean(np.array(ems) <= 0.006)), unit="share", note=note),
        Row(bar="Square Wave + EMS, largest W1", ours=max(ems), unit="W1", note=note),
        Row(bar="Square Wave + EM, mean W1", ours=float(np.mean(distances["em"])), unit="W1", note=note),
        Row(bar="Square Wave + EMS, whole", ours=float(np.mean(seconds)), unit="cpu_s", goal="<= 0.3", note=note),
    ]


def _published_variance(kind: str, epsilon: float, x: np.ndarray) -> float:
    e, r = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2 - x**2
    piecewise = x**2 / (r - 1) + (r + 3) / (3 * (r - 1) ** 2)
    both = (1 - 1 / r) * piecewise + duchi / r
    return float({"Duchi": duchi, "Piecewise": piecewise, "Hybrid": both}[kind].mean())


def _means(people: int) -> list[Row]:
    x = np.clip(np.random.default_rng(1).normal(0.2, 0.3, people), -1, 1)
    rows, source = [], SecureSource()
    note = f"clipped Normal(0.2, 0.3), {people:,} users; variance of the noise of one report over the papers' formula"
    for kind, make in (("Duchi", DuchiMean.of), ("Piecewise", PiecewiseMean.of), ("Hybrid", HybridMean.of)):
        for epsilon in (1.0, 4.0):
            channel = make(epsilon=epsilon)
            found = channel.estimate(channel.tally(channel.randomize(x, SeededSource(7))))
            noise, theory = found.std**2 * people - x.var(), _published_variance(kind, epsilon, x)
            bar = f"{kind} mean, epsilon {epsilon:g}, variance less theory"
            text = f"{note}; measured {kind} {epsilon:g}: {noise:.3g} [{theory:.3g}]"
            ours = abs(noise / theory - 1)
            rows.append(Row(bar=bar, ours=ours, unit="share", goal="<= 0.02", note=text))
        channel = make(epsilon=1.0)
        seconds = cpu(lambda c=channel: c.estimate(c.tally(c.randomize(x, source))), 3)[0] * MILLION / people
        rows.append(Row(bar=f"{kind} mean, 1e6 users", ours=seconds, unit="cpu_s", goal="<= 0.2"))
    return rows


# -- promises ------------------------------------------------------------------------------------------------


def _exact(ratio: Fraction) -> mpmath.mpf:
    return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)


def _epsilon() -> Row:
    worst, count = 0.0, 0
    with mpmath.workdps(40):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            for channel in _listed(epsilon):
                worst = max(worst, float(abs(_exact(worst_ratio(channel.weights())) - channel.epsilon)))
                worst = max(worst, math.inf if channel.epsilon_upper > epsilon else 0.0)
                count += 1
            for channel, ratio in _ends(epsilon):
                worst = max(worst, float(abs(_exact(ratio) - channel.epsilon)))
                worst = max(worst, math.inf if channel.epsilon_upper > epsilon else 0.0)
                count += 1
    note = (
        f"{count} channels, all reports (of means: both ends) in exact integers; infinite if one exceeds what was asked"
    )
    return Row(bar="stated minus enumerated epsilon, largest", ours=worst, unit="epsilon", goal="<= 1e-12", note=note)


def _listed(epsilon: float) -> list[Any]:
    channels = [make(k, epsilon) for k in (2, 3, 5) for name, make in ORACLES.items() if name != "OLH"]
    hashing = [LocalHashing.optimised(levels=k, epsilon=epsilon) for k in (2, 5, 12)]
    channels += [LocalHashing(levels=one.levels, inner=one.inner, seed_bits=4) for one in hashing]
    channels += [SquareWave.of(levels=d, epsilon=epsilon) for d in (2, 10, 256)]
    return channels + [geometric_channel(levels=k, epsilon=epsilon) for k in (2, 5, 20)]


def _ends(epsilon: float) -> list[tuple[Any, Fraction]]:
    """The mean channels, with the ratio of the integers that both ends of the range sample with."""
    coin, piecewise = DuchiMean.of(epsilon=epsilon), PiecewiseMean.of(epsilon=epsilon)
    low, high = (int(weight) for weight in coin.thresholds(np.array([-1.0, 1.0])))
    window = piecewise.window
    return [(coin, Fraction(high, low)), (piecewise, Fraction(window.near, window.far))]


def _coverage(runs: int) -> list[Row]:
    found = {}
    for about in ("population", "respondents"):
        for name, make in ORACLES.items():
            for epsilon, people in ((1.0, 1000), (4.0, 3000)):
                found[name, epsilon, about] = coverage(make(20, epsilon), people=people, runs=runs, about=about)
    note = (
        f"{runs} collections for each of {len(found)} settings: every oracle, k = 20, epsilon 1 and 4, both questions"
    )
    return [
        Row(bar=f"95 % intervals, {name} coverage", ours=figure, unit="share", goal=goal, note=note)
        for name, figure, goal in (
            ("lowest", min(found.values()), ">= 0.93"),
            ("highest", max(found.values()), "<= 0.97"),
        )
    ]
