"""Made-up rows that tell about all and not about one: models fitted to private tables, and rows drawn from them.

Every method is a recipe that is calibrated, charged and run. What comes out is a `Synthesized`: a model, what it cost,
and as many rows as one likes.
"""

from tacita.synthesize.estimate import fit_mixture
from tacita.synthesize.marginals import Independent, Pairs
from tacita.synthesize.privbayes import PrivBayes
from tacita.synthesize.quality import Synthesize
from tacita.synthesize.result import Synthesized
from tacita.synthesize.select import Adaptive, SpanningTree

__all__ = [
    "Adaptive",
    "Independent",
    "Pairs",
    "PrivBayes",
    "SpanningTree",
    "Synthesize",
    "Synthesized",
    "fit_mixture",
]
