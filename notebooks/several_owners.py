# %% [markdown]
# # One synthetic table from data that no one shares
#
# Three hospitals have the same kind of data, and none may show it to another. Each answers with its own noise and pays
# from its own account; an analyst sees private answers only and makes one model of all patients. In practice the
# holders are servers (`tacita holder serve`); here they are objects in one process, and the messages are the same.

# %%
import numpy as np

import tacita as tc
from tacita.demo.census import DOMAIN, simulate
from tacita.synthesize.federated import Party, Terms, federate
from tacita.synthesize.federated.holder import Holder, Limits

names = ("age", "sex", "region", "smoking")
domain = DOMAIN.project(names)
everyone = simulate(30_000, seed=1).select(list(names))
shares = {"north": everyone.slice(0, 15_000), "south": everyone.slice(15_000, 10_000), "west": everyone.slice(25_000)}
budget = tc.Budget.pure(1.0)
common = {"unit": tc.Unit.row(), "neighbours": tc.Neighbours.ADD_REMOVE}

# %% [markdown]
# ## The holders
#
# Each has its own ledger, and a limit on what one run may cost.

# %%
holders, sessions = {}, {}
for name, rows in shares.items():
    ledger = tc.Ledger(tc.Database(f"sqlite:///{name}.db"))
    ledger.open(name, **common, budget=tc.Budget.pure(2.0))
    session = tc.Session(
        engine=tc.connect(rows, domain), ledger=ledger, account=name, principal="analyst", source=tc.SecureSource()
    )
    sessions[name] = session
    holders[name] = Holder(name=name, session=session, ledger=ledger, limits=Limits(most=1.0))

# %% [markdown]
# ## The run
#
# SL1 shares noisy tables of pairs. The terms are bound to the run: a holder refuses to answer it on other terms.

# %%
terms = Terms(
    run="spring",
    schema=domain.fingerprint,
    attributes=names,
    method="SL1",
    budget=budget,
    holders=tuple(holders),
    quorum=3,
    **common,
)
parties = [Party(name=name, ask=holder.answer) for name, holder in holders.items()]
made = federate(terms, domain, parties, deadline=60.0, rng=np.random.default_rng(1))
for note in made.notes:
    print(note)
print(made.statement())

# %% [markdown]
# ## How good is it?
#
# The truth is known here because the data is simulated.

# %%
true = np.bincount(domain.encode(everyone, ["region"])["region"], minlength=domain["region"].size) / everyone.num_rows
model = np.asarray(made.project(["region"]).values)
print(f"largest difference of a share of the regions: {np.abs(model - np.asarray(true)).max():.4f}")
made.to_arrow(5, seed=1).to_pandas()

# %% [markdown]
# ## What each holder paid

# %%
for name, session in sessions.items():
    balance = session.balance()
    print(f"{name}: spent {float(balance.spent):.3g}, left {float(balance.remaining):.3g}")
