"""Made-up rows that tell about all and not about one: models fitted to private tables, and rows drawn from them.

Every method is a recipe that is calibrated, charged and run. What comes out is a `Synthesized`: a model, what it cost,
and as many rows as one likes.
"""

from tacita.engines.linked import Linked
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.estimate import fit_mixture
from tacita.synthesize.gan.conditional import ConditionalGan
from tacita.synthesize.gan.pate_gan import PateGan
from tacita.synthesize.gan.wgan import Wgan
from tacita.synthesize.imputation import Impute, Imputed
from tacita.synthesize.marginals import Independent, Pairs
from tacita.synthesize.privbayes import PrivBayes
from tacita.synthesize.relational.related import Related
from tacita.synthesize.relational.relational import Relational
from tacita.synthesize.result import Synthesized
from tacita.synthesize.ruled import Ruled
from tacita.synthesize.rules import Rules
from tacita.synthesize.select import Adaptive, SpanningTree
from tacita.synthesize.synthesizer import Synthesizer

__all__ = [
    "Adaptive",
    "ConditionalGan",
    "Impute",
    "Imputed",
    "Independent",
    "Linked",
    "Pairs",
    "PateGan",
    "PrivBayes",
    "Related",
    "Relational",
    "Ruled",
    "Rules",
    "SpanningTree",
    "Synthesize",
    "Synthesized",
    "Synthesizer",
    "Wgan",
    "fit_mixture",
]
