# %% [markdown]
# # Causal networks of sensors, under a budget
#
# Buses report slope, load, speed and fuel. Which of them cause which, and by how much? This notebook learns a Bayesian
# network from numbers, exactly for the owner and privately for everyone else, and asks how stable each link is. The
# data is simulated: the true coefficients are in the next cell.

# %%
import numpy as np
import pyarrow as pa

import tacita as tc
from tacita.figures.picture import Picture
from tacita.learn.structure.columns import read_columns
from tacita.learn.structure.learned import learn_network
from tacita.models import LinkRules, Search, compare_links, draw_comparison, draw_network
from tacita.models.continuous import Moments, effects_on
from tacita.query.models.network import NumericNetwork

rng = np.random.default_rng(1)
slope, load = rng.normal(0, 2, 20_000), rng.normal(20, 3, 20_000)
speed = 40 - 2 * slope + rng.normal(0, 4, 20_000)
fuel = 25 + 3 * slope + 0.5 * load - 0.2 * speed + rng.normal(0, 2, 20_000)
bounds = {"slope": (-20, 20), "load": (0, 40), "speed": (0, 80), "fuel": (0, 80)}
domain = tc.Domain(attributes=[tc.Numeric(name=name, bounds=each, bins=4) for name, each in bounds.items()])
engine = tc.connect(pa.table({"slope": slope, "load": load, "speed": speed, "fuel": fuel}), domain)

# %% [markdown]
# ## For the owner: the exact optimum
#
# All networks are scored by BIC. Fuel causes nothing here, and nothing causes the slope of a road: rules that the owner
# knows. A network of exact rows has no guarantee, and says so.

# %%
columns = read_columns(engine)
rules = LinkRules.of(columns.names, forbid=["fuel:*", "*:slope"])
exact = learn_network(columns, Search(kind="exact", rules=rules))
Picture(draw_network(exact.parents, title="exact network"))

# %% [markdown]
# ## For others: the same under a budget
#
# Noise is added to the moments once. Structure, coefficients and effects follow from them at no further cost.

# %%
recipe = NumericNetwork(columns=tuple(bounds), forbid=("fuel:*", "*:slope"))
common = {"unit": tc.Unit.row(), "neighbours": tc.Neighbours.ADD_REMOVE}
found = {}
for epsilon in (0.1, 1.0, 10.0):
    plan = recipe.calibrate(domain, tc.Budget.approx(epsilon, 1e-6), **common)
    found[f"epsilon {epsilon:g}"] = plan.run(engine, tc.SecureSource())
released = found["epsilon 1"]
released

# %%
links = {"exact": exact.parents} | {name: each.parents for name, each in found.items()}
compared = compare_links(links)
print("links that differ:", compared.shd)
Picture(draw_comparison(links, title="exact and released"))

# %% [markdown]
# ## What if a road were steeper?
#
# Effects of an intervention on fuel, by adjustment for the parents. The true total effect of the slope is
# 3 + 0.2 x 2 = 3.4, of the load 0.5, of the speed -0.2.

# %%
for one, other in zip(
    effects_on(Moments.of(columns.numbers), exact.parents, "fuel"), released.effects("fuel"), strict=True
):
    print(f"{one.cause}: {one.value:.2f} ± {one.std:.2f}; released {other.value:.2f} ± {other.std:.2f}")

# %% [markdown]
# ## How large must the data be for a stable decision?
#
# A test of independence on noisy counts may decide otherwise than on exact ones. The calculator needs public numbers
# only.

# %%
from tacita.calculators.registry import CALCULATORS, calculate

for people in (1_000, 10_000, 100_000):
    given = CALCULATORS["flip"].request(mechanism="laplace", epsilon=0.5, people=people, effect=0.05)
    print(people, dict(calculate("flip", given).facts))
