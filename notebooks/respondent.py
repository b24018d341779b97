# %% [markdown]
# # Answer a survey without being known
#
# You are asked about your travel. Your device adds chance to your answer before anything is sent, so that no one,
# neither the people who ask nor the server, can know what you answered. This notebook shows what the web page does for
# you: it explains the question, states the cost, draws the answer, and keeps a receipt.

# %%
import tacita as tc
from tacita import collect
from tacita.demo.survey import DOMAIN

design = collect.plan_collection(DOMAIN, tc.Workload.all(DOMAIN, 2), respondents=5_000, epsilon=2.0)
campaigns = collect.Campaigns(tc.Database("sqlite:///survey.db"))
campaign = campaigns.create(design, title="How do you travel?", terms=collect.Terms(minimum=100))
campaign = campaigns.open(campaign.id)
sheet = [question.to_dict() for question in campaigns.sheet(campaign.id)]
len(sheet), "questions are on the sheet that every device gets"

# %% [markdown]
# ## Before you answer
#
# The device keeps its own ledger. It refuses questions that would cost more than you allow, whatever the server says.
# `review_sheet` states in words what would leave the device.

# %%
device = collect.Device(
    service="https://survey.example", ledger_path="device.json", limit_total_epsilon=4.0, limit_question_epsilon=2.0
)
print(device.review_sheet(sheet).statement)

# %% [markdown]
# ## Your answer, and what is sent
#
# The device picks a question, answers it with the channel that the sheet states, and writes a receipt.

# %%
mine = {
    "Age": "adult",
    "Sex": "F",
    "How they travel": "train",
    "Employed or self-employed": "emp",
    "Schooling: high school or university": "uni",
    "Size of the town of residence": "big",
}
answered = device.answer_sheet(sheet, mine)
for report, receipt in answered:
    print("sent:", report.to_dict())
    print("receipt:", receipt)

# %% [markdown]
# ## How much chance is there?
#
# Two people with different true answers, and what an observer would see of each: the probability of every report
# under a channel of epsilon 1 with four levels. No report is more than $e^1 = 2.7$ times as likely from one of them as
# from the other.

# %%
from tacita.figures.charts import twin_bars
from tacita.figures.picture import Picture

levels = ["car", "train", "bus", "other"]
channel = tc.RandomizedResponse(keep=12, fake=(7, 7, 7, 7))  # whole numbers: chance is drawn exactly
matrix = channel.matrix()
print("epsilon", round(channel.epsilon, 4), "largest ratio", round(float((matrix[1] / matrix[0]).max()), 4))
rows = list(zip(levels, matrix[1].tolist(), matrix[0].tolist(), strict=True))
Picture(twin_bars(rows, names=("takes the train", "takes the car"), title="probability of each report"))

# %% [markdown]
# ## The ledger of the device
#
# You allowed 4 in all. A second campaign takes the rest; a third is refused here, on the device, before anything is
# drawn.

# %%
for title in ("And at weekends?", "And in winter?"):
    other = campaigns.open(campaigns.create(design, title=title, terms=collect.Terms(minimum=100)).id)
    try:
        device.answer_sheet([question.to_dict() for question in campaigns.sheet(other.id)], mine)
        print(title, "answered")
    except tc.TacitaError as refusal:
        print(title, "refused:", refusal)
