# %% [markdown]
# # Hand a table to others
#
# You hold a table about people. This notebook reads a file as offices write it, states what is public, and releases it
# in four ways: noisy tables, synthetic rows, k-anonymous rows and a model. Each is paid from one account.

# %%
import os
import subprocess
import sys

import tacita as tc
from tacita.demo.census import DOMAIN, simulate

census = simulate(10_000, seed=1)
frame = census.to_pandas()
lines = [";".join(["Alter", "Region", "Einkommen"])]
for age, region, income in zip(frame["age"], frame["region"], frame["income"], strict=True):
    lines.append(f"{age};{region};{income:,.2f}".replace(",", " ").replace(".", ","))
with open("amt.csv", "w", encoding="latin-1") as out:
    out.write("\n".join(lines) + "\n")
print("\n".join(lines[:4]))

# %% [markdown]
# ## Read it
#
# Delimiter, decimal comma, groups of digits and encoding are found on a sample. Every guess has a reason, and is a
# draft until you confirm it: bounds and levels become public.

# %%
command = [sys.executable, "-m", "tacita", "schema", "infer", "amt.csv", "-o", "amt.yaml"]
shown = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"NO_COLOR": "1"})
print(shown.stdout)
tc.Domain.read("amt.yaml").names

# %% [markdown]
# ## What is public, and what may be spent
#
# From here on the census of the demonstration is used, whose schema is written by hand. The ledger refuses what would
# exceed the budget.

# %%
ledger = tc.Ledger(tc.Database("sqlite:///state.db"))
ledger.open("census", unit=tc.Unit.row(), neighbours=tc.Neighbours.ADD_REMOVE, budget=tc.Budget.pure(4.0))
session = tc.Session(
    engine=tc.connect(census, DOMAIN), ledger=ledger, account="census", principal="me", source=tc.SecureSource()
)
common = {"unit": tc.Unit.row(), "neighbours": tc.Neighbours.ADD_REMOVE}

# %% [markdown]
# ## Noisy tables
#
# The plan states the error before any data is read.

# %%
plan = tc.NoisyTables(tc.Workload.of(["region"], ["region", "smoking"])).calibrate(
    DOMAIN, tc.Budget.pure(0.5), **common
)
tables = session.ask(plan)
tables[("region",)]

# %%
tables[("region",)].plot()

# %% [markdown]
# ## Synthetic rows
#
# The method is picked from public facts only, and says why.

# %%
plan = tc.Synthesize(people=10_000).calibrate(DOMAIN, tc.Budget.pure(2.0), **common)
print(plan.reason)
made = session.ask(plan)
made.save("synthetic.parquet")
made.to_arrow(5, seed=1).to_pandas()

# %% [markdown]
# ## k-anonymous rows
#
# Rows of real people: no differential privacy, and no charge. Every group of equal quasi-identifiers has at least ten
# rows.

# %%
recipe = tc.Anonymize(conditions=tc.Conditions(k=10), quasi=("age", "region", "sex"), sensitive=("smoking",))
found = recipe.prepare(DOMAIN).run(tc.connect(census, DOMAIN))
print(found.achieved)
found.rows.slice(0, 5).to_pandas()

# %% [markdown]
# ## A model

# %%
plan = tc.Trees(target="smoking", features=("age", "sex", "region")).calibrate(DOMAIN, tc.Budget.pure(1.0), **common)
model = session.ask(plan)
print(model.statement())
model.plot()

# %% [markdown]
# ## What was spent
#
# The next question that would cost more than what is left is refused, and says so.

# %%
balance = session.balance()
print(f"spent {float(balance.spent):.3g}, left {float(balance.remaining):.3g}")
try:
    session.ask(tc.NoisyTables(tc.Workload.of(["age"])).calibrate(DOMAIN, tc.Budget.pure(1.0), **common))
except tc.TacitaError as refusal:
    print(refusal)
