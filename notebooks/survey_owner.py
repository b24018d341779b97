# %% [markdown]
# # Run a survey that never sees an answer
#
# You want joint tables of a population, and you do not want to hold anyone's answers. A campaign asks people on their
# own devices; what arrives is random, and tables with honest error bars come out. First comes the plan: what to ask of
# whom, and how exact it will be.

# %%
import numpy as np

import tacita as tc
from tacita import collect
from tacita.collect.analysis import findings
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.demo.survey import DOMAIN, simulate
from tacita.figures.picture import Picture
from tacita.models import draw_network
from tacita.testing.respondents import answer_campaign

design = collect.plan_collection(DOMAIN, tc.Workload.all(DOMAIN, 2), respondents=20_000, epsilon=2.0)
print(design.mode, "-", design.why)
worst = max(design.predict(), key=lambda each: each.published)
print("largest expected error of a published table:", round(worst.published, 4))

# %% [markdown]
# ## Open it, and let people answer
#
# The people here are simulated: each answers one question, randomised as their device would do it.

# %%
campaigns = collect.Campaigns(tc.Database("sqlite:///survey.db"))
terms = collect.Terms(minimum=500, stop=collect.StopRule(half_width=0.05))
campaign = campaigns.open(campaigns.create(design, title="How do you travel?", terms=terms).id)
people = simulate(20_000, seed=1)
answer_campaign(campaigns, campaign.id, DOMAIN.encode(people, DOMAIN.names))
tally = campaigns.tally(campaign.id)

# %% [markdown]
# ## Tables with error bars
#
# `published` gives tables that are never negative and agree with each other, each with intervals.

# %%
tables = findings.published(tally)
for line in findings.explain(tables)[:4]:
    print(line)
travel = findings.table(tally, ["T"])
travel

# %%
travel.plot()

# %% [markdown]
# Here the people are simulated, so the truth is known. The intervals should cover it about 95 times in 100.

# %%
true = np.bincount(DOMAIN.encode(people, ["T"])["T"], minlength=DOMAIN["T"].size) / people.num_rows
low, high = travel.interval()
frame = travel.to_pandas()
frame["truth"] = true
frame["covered"] = (np.asarray(low).ravel() <= true) & (true <= np.asarray(high).ravel())
frame

# %% [markdown]
# ## Does travel depend on the occupation?
#
# The test counts the noise of the channel. A plain chi-square test on these tables would find dependence everywhere.

# %%
verdict = findings.independence(tally, Hypothesis.of("O", "T"))
print("p-value", verdict.p_value)
learned = findings.network(tally)
Picture(draw_network(learned.network.parents, title="dependences that are beyond doubt"))

# %% [markdown]
# ## Hand it on
#
# Everything above is a release: files and frames cost nothing more.

# %%
tables.save("tables.xlsx")
rows = findings.synthetic(tally, 1000, np.random.default_rng(1))
rows.to_pandas().head()
