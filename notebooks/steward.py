# %% [markdown]
# # What was spent, what could leak, and what it would cost
#
# You answer for data about people. This notebook reads the ledger, attacks a release as an intruder would, compares
# ways to release the same table, and puts the risk into words and money.

# %%
import numpy as np

import tacita as tc
from tacita.assess import assessment
from tacita.assess.case import read_case
from tacita.demo.census import DOMAIN, simulate

names = ["age", "sex", "region", "income", "smoking"]
domain = DOMAIN.project(names)
used, held_back = simulate(5_000, seed=1).select(names), simulate(5_000, seed=2).select(names)
ledger = tc.Ledger(tc.Database("sqlite:///state.db"))
common = {"unit": tc.Unit.row(), "neighbours": tc.Neighbours.ADD_REMOVE}
ledger.open("census", **common, budget=tc.Budget.pure(3.0))
session = tc.Session(
    engine=tc.connect(used, domain), ledger=ledger, account="census", principal="press office", source=tc.SecureSource()
)
made = session.ask(tc.Synthesize(people=5_000).calibrate(domain, tc.Budget.pure(1.0), **common), purpose="open data")

# %% [markdown]
# ## The ledger
#
# Every charge is written before data is read, and none is ever refunded.

# %%
balance = session.balance()
print(f"spent {float(balance.spent):.3g}, left {float(balance.remaining):.3g}")
for charge in ledger.history("census"):
    print(f"{charge.created:%Y-%m-%d} {charge.principal}: {charge.purpose} ({charge.state})")

# %% [markdown]
# ## Attack the release
#
# People who were not used are the control: only what an attack finds beyond them is a leak.

# %%
rng = np.random.default_rng(1)
case = read_case(domain, real=used, released=[made.to_arrow(5_000, seed=1)], control=held_back, names=names, rng=rng)
found = assessment.assess(case, rng)
print(found.headline)
found

# %%
found.plot()

# %% [markdown]
# The same attacks on a copy of the rows, which is what "we removed the names" often is:

# %%
naive = assessment.assess(read_case(domain, real=used, released=[used], control=held_back, names=names, rng=rng), rng)
print(naive.headline)
naive.plot()

# %% [markdown]
# ## Which release is best?
#
# Same data, same attacks, same measures. The noise is simulated, and nothing is charged.

# %%
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.run import compare

plan = ComparePlan.from_dict(
    {
        "data": "census.csv",
        "schema": "census.yaml",
        "releases": [
            {"anonymize": {"k": 5}},
            {"synthesize": {"epsilon": 0.5}},
            {"synthesize": {"epsilon": 2.0}},
        ],
        "quasi": ["age", "sex", "region"],
        "sensitive": ["smoking"],
        "attempts": 1000,
        "most_trials": 10,
    }
)
compared = compare(plan, source=(domain, tc.connect(used, domain)))
for reason in compared.reasons():
    print(reason)
compared

# %%
compared.plot()

# %% [markdown]
# ## In words, and in money
#
# The odds of an intruder, privacy at risk, and what compensation for it would cost.

# %%
from tacita.calculators.registry import CALCULATORS, calculate

for name, given in {
    "odds": {"epsilon": 1.0, "before": 0.1},
    "at-risk": {"epsilon": 1.0, "confidence": 0.95},
}.items():
    result = calculate(name, CALCULATORS[name].request(**given))
    print(CALCULATORS[name].title)
    for label, text in result.facts:
        print(f"   {label}: {text}")
