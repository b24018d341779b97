# %% [markdown]
# # Synthetic headlines, and what a model remembers
#
# A recurrent network writes headlines from words, parts of speech and a topic. Does it repeat what it read? Canaries
# are random secrets that are planted into the training text; their exposure says how far a model has memorised them.
# The corpus comes from a grammar of ours, so that it can be shipped. It takes half a minute.

# %%
import numpy as np

import tacita as tc
from tacita.figures.charts import twin_bars
from tacita.figures.picture import Picture
from tacita.synthesize.text.assessment import assess_headlines
from tacita.synthesize.text.canaries import draw_canaries, plant
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.recipe import HeadlineRecipe

words = example_vocabulary()  # public: all words of the grammar, whichever are drawn
training = Headlines.encode(example_headlines(1_000, seed=0), words)
held_back = Headlines.encode(example_headlines(500, seed=1), words)
canaries = draw_canaries((0, 1, 4, 16), np.random.default_rng(2), topic="business", digits=2)
planted = plant(training, canaries)

# %% [markdown]
# ## Without protection, and with DP-SGD
#
# Under DP-SGD one headline is the unit that is protected: its gradient is clipped, and noise covers it.

# %%
recipe = HeadlineRecipe(kind="sclstm", hidden=32, steps=100, sample=100, people=1_000)
terms = {"unit": tc.Unit.row(), "neighbours": tc.Neighbours.ADD_REMOVE}
private = recipe.calibrate(words, tc.Budget.approx(8.0, 1e-5), **terms).train(planted, tc.SecureSource())
plain = recipe.calibrate(words, None, **terms).train(planted, tc.SecureSource())
print(private.statement())
print(plain.statement())
for name, model in (("epsilon 8", private), ("no protection", plain)):
    for topic in ("business", "health"):
        print(f"{name}, {topic}:", " ".join(model.generate(1, topic, np.random.default_rng(4))[0].words))

# %% [markdown]
# ## Quality
#
# The six measures of the document, and the honest price of privacy with 1,000 headlines.

# %%
figures = {
    name: assess_headlines(model, training, held_back, np.random.default_rng(3), per_topic=25, canaries=canaries)
    for name, model in (("no protection", plain), ("epsilon 8", private))
}
for name, each in figures.items():
    print(
        f"{name}: perplexity {each.perplexity:.1f}, coherence {each.coherence:.0%}, BLEU {each.bleu:.2f}, "
        f"novelty {each.novelty:.1f}, grammatical {each.grammatical:.0%}, repetitions {each.repetitions}"
    )

# %% [markdown]
# ## Memory
#
# Exposure in bits, by how often a secret was planted. One that was never planted has 1.4 bits on average; the most is
# 6.6 here, for a secret that the model ranks before all others.

# %%
rows = [
    (f"planted {canary.copies} times", one.bits, other.bits)
    for canary, one, other in zip(
        canaries, figures["no protection"].exposures, figures["epsilon 8"].exposures, strict=True
    )
]
Picture(twin_bars(rows, names=("no protection", "epsilon 8"), title="exposure in bits"))
