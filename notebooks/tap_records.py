# %% [markdown]
# # Tap records of a city: communities, synthetic cards, and their risk
#
# A card's trips name its owner: few points are enough. This notebook simulates a city, finds communities of commuters
# for the operator, releases synthetic cards that are differentially private for a card with all its trips, and attacks
# the release.

# %%
import numpy as np

import tacita as tc
from tacita.assess.mobility import assess_taps
from tacita.demo.city import build_city, simulate_taps
from tacita.figures.flow_map import flow_map
from tacita.figures.picture import Picture
from tacita.synthesize.mobility import Tours
from tacita.synthesize.mobility.flows import FlowTally
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.topic_models.communities import describe
from tacita.synthesize.mobility.topic_models.topics import Topics

city = build_city(lines=4, stations=6, stops=1)
taps, held_back = simulate_taps(city, 3_000, seed=1), simulate_taps(city, 3_000, seed=2)
taps.slice(0, 5).to_pandas()

# %% [markdown]
# ## For the operator: communities
#
# A topic model groups cards by the places that they visit. These figures come from exact records.

# %%
trips = read_trips(taps, city.schema)
visits = trips.visits("hour-of-week")
model = Topics(kind="slda", topics=5, sweeps=200, chains=2).fit(visits, np.random.default_rng(1))
for each in describe(model, visits, city.places.labels, fold="hour-of-week", tau=None, top=3):
    named = ", ".join(name for name, _ in each.places)
    print(f"{each.number}: {each.cards:,} cards; {named}; {', '.join(each.peaks)}")

# %% [markdown]
# ## For others: synthetic cards
#
# The plan lists every table with its noise, before anything is read.

# %%
plan = Tours(places=city.places, cards=3_000).calibrate(
    city.schema.domain,
    tc.Budget.pure(2.0),
    unit=tc.Unit.of_person("card", max_rows=20),
    neighbours=tc.Neighbours.ADD_REMOVE,
)
for table in plan.tables:
    print(f"{table.spec.name}: {table.spec.cells} cells, standard error {table.std:.1f}")

# %%
made = plan.run(tc.connect(taps, city.schema.domain), tc.SecureSource())
rows = made.sample(3_000, np.random.default_rng(1))
print(made.statement())


def draw(records, title):
    tally = FlowTally(city.schema)
    tally.add(records)
    flows = [(a, b, float(n)) for a, b, n in tally.heaviest(120)]
    return Picture(flow_map(city.places.labels, flows, points=city.places.points.tolist(), title=title))


draw(taps, "flows of the real cards")

# %%
draw(rows, "flows of the synthetic cards")

# %% [markdown]
# ## Attack it
#
# Cards that were held back are the control: no release can be expected to be nearer to the data than other people are.

# %%
found = assess_taps(city.schema, taps, rows, np.random.default_rng(2), control=held_back, attempts=200)
print(f"largest risk beyond people held back: {found.risk:.3f}")
for fact in found.travel.facts:
    print(*fact)
