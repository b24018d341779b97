"""Attacks, the auditor and a comparison on UCI Adult, side by side with anonymeter.

anonymeter runs in an environment of its own (it pins an old numpy): singling out with 500 guesses over 4 attributes,
linkability and inference with 2,000 people each, on 15,000 people, 5,000 held back and releases of 15,000 rows: a
bootstrap of the people (a leak), and their columns drawn one by one. CPU seconds hold all three attacks, after one
small run that compiles. Membership is on forests of 30 trees, 4,000 people in and 4,000 out, five seeds, scored on
2,000 of each.
"""

from __future__ import annotations

import csv
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.peers import run_peer
from bench.rows import Row
from tacita.assess.attacks.inference import inference
from tacita.assess.attacks.linkability import linkability
from tacita.assess.attacks.membership_models import likelihood_ratio, loss_threshold, train_shadows
from tacita.assess.attacks.membership_tables import density_ratio, distance_attack
from tacita.assess.attacks.roc import Membership
from tacita.assess.attacks.singling_out import singling_out
from tacita.assess.audit.library import audit_broken, audit_library
from tacita.assess.case import Case, read_case
from tacita.assess.disclosure import disclosure_risk
from tacita.assess.frame import Frame
from tacita.assess.scenario import Scenario
from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize

DATA = Path(os.environ.get("TACITA_BENCH_DATA", "../shared/data"))
RAW = ("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship")
RAW += ("race", "sex", "capital_gain", "capital_loss", "hours", "country", "income")
QUASI = ["age", "workclass", "education", "marital", "occupation", "race", "sex", "country"]
LINKED = (("age", "workclass", "education", "marital"), ("occupation", "race", "sex", "country"))
PACKAGES = ("anonymeter==1.1.0",)
SCRIPT = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
folder = sys.argv[1]
read = lambda name: pd.read_csv(f"{folder}/{name}.csv", keep_default_na=False)
real, control, release = read("real"), read("control"), read(sys.argv[2])
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
quasi, linked = json.loads(sys.argv[3]), json.loads(sys.argv[4])
def three(real, control, release, small):
    out = {}
    one = SinglingOutEvaluator(ori=real, syn=release, control=control, n_attacks=20 if small else 500, n_cols=4)
    one.evaluate(mode="multivariate")
    out["singling out"] = one.risk().value
    two = LinkabilityEvaluator(ori=real, syn=release, control=control, n_attacks=20 if small else 2000,
                               aux_cols=(linked[0], linked[1]), n_neighbors=1)
    two.evaluate(n_jobs=1)
    out["linkability"] = two.risk().value
    three = InferenceEvaluator(ori=real, syn=release, control=control, n_attacks=20 if small else 2000,
                               aux_cols=[c for c in quasi if c != "occupation"], secret="occupation", regression=False)
    three.evaluate(n_jobs=1)
    out["inference"] = three.risk().value
    return out
three(real.head(200), control.head(100), release.head(200), True)
start = time.process_time()
out = three(real, control, release, False)
out["seconds"] = time.process_time() - start
print(json.dumps(out))
"""


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="Adult", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    table = _adult()
    rows = _attacks(table) + _membership(table, seeds=2 if quick else 5) + _private(table)
    rows += _scenario(100_000 if quick else 1_000_000)
    rows += _auditor(200_000 if quick else 1_000_000)
    return rows + _compared(quick)


def _adult() -> pa.Table:
    with (DATA / "adult.data").open(encoding="utf-8") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) == len(RAW)]
    columns: dict[str, Any] = dict(zip(RAW, zip(*rows, strict=True), strict=True))
    numbers = ("age", "education_num", "capital_gain", "capital_loss", "hours")
    return pa.table(
        {n: pa.array([int(v) for v in c] if n in numbers else list(c)) for n, c in columns.items() if n != "fnlwgt"}
    )


def _domain(table: pa.Table) -> Domain:
    bounds = {
        "age": (17, 90),
        "education_num": (1, 16),
        "capital_gain": (0, 99_999),
        "capital_loss": (0, 4_356),
        "hours": (1, 99),
    }
    attributes: list[Any] = []
    for name in table.column_names:
        if name in bounds:
            attributes.append(Numeric(name=name, bounds=bounds[name], bins=15, integer=True))
        else:
            role = "sensitive" if name == "income" else "other"
            attributes.append(Categorical(name=name, levels=sorted(set(table[name].to_pylist())), role=role))
    return Domain(attributes=attributes)


# -- tables ---------------------------------------------------------------------------------------------------------


def _attacks(table: pa.Table) -> list[Row]:
    rng = np.random.default_rng(1)
    order = rng.permutation(len(table))
    some = table.select(QUASI)
    real, control = some.take(pa.array(order[:15_000])), some.take(pa.array(order[15_000:20_000]))
    releases = {
        "copied": real.take(pa.array(rng.integers(0, 15_000, 15_000))),
        "independent": pa.table({n: real[n].take(pa.array(rng.integers(0, 15_000, 15_000))) for n in QUASI}),
    }
    domain, rows = _domain(some), []
    with tempfile.TemporaryDirectory() as folder:
        for name, each in {"real": real, "control": control, **releases}.items():
            pa_csv.write_csv(each, f"{folder}/{name}.csv")
        for name, release in releases.items():
            case = read_case(domain, real=real, released=[release], control=control)
            _three(_small(case))
            start = time.process_time()
            ours = _three(case)
            seconds = time.process_time() - start
            import json

            arguments = [folder, name, json.dumps(QUASI), json.dumps(LINKED)]
            peer = run_peer("anonymeter", PACKAGES, SCRIPT, arguments)
            found = peer if isinstance(peer, dict) else {}
            title = "anonymeter 1.1.0" if found else f"anonymeter did not run: {peer}"
            rows.append(
                Row(
                    bar=f"{name}: three attacks",
                    ours=seconds,
                    peer=found.get("seconds"),
                    peer_name=title,
                    unit="CPU s",
                    goal="<= 0.1" if found else "shown",
                )
            )
            for attack, value in ours.items():
                rows.append(
                    Row(
                        bar=f"{name}: {attack}",
                        ours=value,
                        unit="risk",
                        peer_name=f"{title}: {found.get(attack, float('nan')):.3f}",
                    )
                )
    return rows


def _small(case: Case) -> Case:
    return Case(
        real=case.real.take(slice(200)),
        released=(case.first.take(slice(200)),),
        control=None if case.control is None else case.control.take(slice(100)),
    )


def _three(case: Case) -> dict[str, float]:
    rng = np.random.default_rng(2)
    known = [name for name in QUASI if name != "occupation"]
    return {
        "singling out": singling_out(case, rng, attempts=500, columns=4).risk[0],
        "linkability": linkability(case, LINKED, rng, attempts=2000).risk[0],
        "inference": inference(case, "occupation", rng, known=known, attempts=2000).risk[0],
    }


# -- membership -----------------------------------------------------------------------------------------------------


def _found(attack: Membership, fpr: float) -> float:
    rate = attack.tpr(fpr)
    return float("nan") if rate is None else rate.share


def _membership(table: pa.Table, seeds: int) -> list[Row]:
    from sklearn.ensemble import RandomForestClassifier

    codes = np.stack(
        [np.unique(np.asarray(table[n]), return_inverse=True)[1] for n in table.column_names if n != "income"], axis=1
    ).astype(np.float32)
    labels = (np.asarray(table["income"]) == ">50K").astype(np.int64)

    def fit(rows: Any, target: Any, seed: int) -> Any:
        return RandomForestClassifier(30, random_state=seed).fit(rows, target).predict_proba

    found: dict[str, list[Membership]] = {"loss": [], "ratio": []}
    seconds = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        pool = rng.permutation(len(labels))[:8000]
        rows, target = codes[pool], labels[pool]
        members = np.arange(8000) < 4000
        predict = fit(rows[members], target[members], seed)
        scored = np.r_[0:2000, 4000:6000]
        start = time.process_time()
        shadows = train_shadows(fit, rows, target, rng, count=32)
        whole = likelihood_ratio(predict, rows, target, members, shadows)
        seconds.append(time.process_time() - start)
        found["ratio"].append(Membership(name="ratio", inside=whole.inside[:2000], outside=whole.outside[:2000]))
        found["loss"].append(loss_threshold(predict, rows[scored], target[scored], members[scored]))
    few = {name: float(np.mean([_found(each, 0.001) for each in attacks])) for name, attacks in found.items()}
    one = {name: float(np.mean([_found(each, 0.01) for each in attacks])) for name, attacks in found.items()}
    spread = float(np.std([_found(each, 0.001) for each in found["ratio"]]))
    return [
        Row(bar="likelihood ratio, 32 shadows", ours=float(np.mean(seconds)), unit="CPU s", goal="<= 10"),
        Row(
            bar="likelihood ratio, AUC",
            ours=float(np.mean([each.auc for each in found["ratio"]])),
            unit="",
            goal=">= 0.72",
            peer_name=f"loss threshold {np.mean([each.auc for each in found['loss']]):.3f}",
        ),
        Row(bar="TPR at 1 %", ours=one["ratio"], unit="", peer_name=f"loss threshold {one['loss']:.4f}"),
        Row(
            bar="TPR at 0.1 %",
            ours=few["ratio"],
            peer=max(few["loss"], 0.0013),
            peer_name=f"loss threshold, {few['loss']:.4f} here (ties), 0.0013 published; spread {spread:.4f}",
            unit="",
            goal=">= 5",
        ),
    ]


# -- what privacy bounds --------------------------------------------------------------------------------------------


def _private(table: pa.Table) -> list[Row]:
    """Attacks on made-up rows at epsilon 1 stay within what epsilon allows."""
    rng = np.random.default_rng(5)
    domain = _domain(table)
    order = rng.permutation(len(table))
    real, control = table.take(pa.array(order[:16_000])), table.take(pa.array(order[16_000:]))
    rows = []
    for epsilon in (1.0, 10.0):
        plan = Synthesize(people=16_000).calibrate(
            domain, Budget.approx(epsilon, 1e-9), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
        )
        made = plan.run(LocalEngine(domain, real), SeededSource(1)).sample(16_000, rng, policy="uniform")
        case = read_case(domain, real=real, released=[made], control=control)
        for attack in (distance_attack, density_ratio):
            told = attack(case, rng, people=4000)
            rows.append(
                Row(
                    bar=f"made up at epsilon {epsilon:g}: {told.name}",
                    ours=told.least_epsilon(),
                    unit="epsilon shown",
                    goal=f"<= {epsilon:g}",
                    note=f"{told.name} at {epsilon:g}: AUC {told.auc:.3f}, TPR at 1 % {_found(told, 0.01):.4f}",
                )
            )
    return rows


# -- a scenario over many rows --------------------------------------------------------------------------------------


def _scenario(people: int) -> list[Row]:
    rng = np.random.default_rng(6)
    domain = Domain(
        attributes=[
            Numeric(name="age", bounds=(0, 99), bins=10, integer=True),
            Numeric(name="income", bounds=(0, 200_000), bins=10, integer=True),
            *(Categorical(name=f"c{i}", levels=[str(j) for j in range(8)]) for i in range(3)),
        ]
    )
    values = np.stack(
        [rng.integers(0, 99, people), rng.gamma(3, 9000, people).astype(int), *rng.integers(0, 8, (3, people))], axis=1
    ).astype(float)
    frame = Frame(domain=domain, values=values)
    scenario = Scenario(exact=("c0", "c1", "c2"), within={"age": 1, "income": 500})
    disclosure_risk(scenario, frame.take(slice(100)), [frame.take(slice(100))], belongs="same rows")
    start = time.process_time()
    disclosure_risk(scenario, frame, [frame], belongs="same rows")
    return [Row(bar=f"scenario, {people:,} people", ours=time.process_time() - start, unit="CPU s", goal="<= 10")]


# -- auditor --------------------------------------------------------------------------------------------------------


def _auditor(trials: int) -> list[Row]:
    rng = np.random.default_rng(7)
    rows = []
    for verdict in audit_library(trials, rng):
        if not verdict.name.startswith(("randomized", "Laplace", "Gaussian")):
            continue
        assert verdict.audited is not None
        rows.append(
            Row(bar=f"audited: {verdict.name}", ours=verdict.reached or 0.0, unit="of the true epsilon", goal=">= 0.8")
        )
    broken = list(audit_broken(100_000, rng))
    caught = sum(verdict.word == "breach" for verdict in broken)
    return [*rows, Row(bar="broken mechanisms caught", ours=caught, unit=f"of {len(broken)}", goal=f">= {len(broken)}")]


# -- comparison -----------------------------------------------------------------------------------------------------

PLAN = """
data: adult.parquet
schema: adult.yaml
sensitive: [income]
target: income
group: sex
attempts: 4000
releases:
- anonymize: {k: 5}
- anonymize: {k: 50}
- synthesize: {epsilon: 0.1, delta: 1.0e-9}
- synthesize: {epsilon: 1, delta: 1.0e-9}
- synthesize: {epsilon: 10, delta: 1.0e-9}
- statistics: {epsilon: 1, delta: 1.0e-9}
- impute: {replace: [income, age], m: 2}
- collect: {epsilon: 4}
"""


def _compared(quick: bool) -> list[Row]:
    import pyarrow.parquet as pq

    from tacita.assess.compare.page import write_comparison
    from tacita.assess.compare.plan import ComparePlan
    from tacita.assess.compare.run import compare

    table = _adult().drop_columns(["education_num"])
    if quick:
        table = table.slice(0, 6000)
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "adult.parquet")
        _domain(table).write(folder / "adult.yaml")
        (folder / "plan.yaml").write_text(PLAN)
        start = time.monotonic()
        found = compare(ComparePlan.read(folder / "plan.yaml"))
        seconds = time.monotonic() - start
        write_comparison(out / "comparison.html", found)
    rows = [Row(bar="eight releases of Adult compared", ours=seconds, unit="s by the clock", goal="<= 600")]
    for each in (*found.results, *found.references):
        told = each.assessment
        note = each.error if told is None else f"kept {told.kept:.3f}, worst {told.worst}, {each.seconds:.0f} s"
        rows.append(
            Row(bar=f"  {each.name}", ours=float("nan") if told is None else told.risk, unit="risk", peer_name=note)
        )
    return rows
