"""Sources of randomness, and the laws of the noise that is added."""

from tacita.noise.cube import DiscreteCube
from tacita.noise.gaussian import DiscreteGaussian
from tacita.noise.laplace import DiscreteLaplace
from tacita.noise.law import Law, law_from_dict
from tacita.noise.source import SecureSource, SeededSource, Source
from tacita.noise.stepped import Stepped

__all__ = [
    "DiscreteCube",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Law",
    "SecureSource",
    "SeededSource",
    "Source",
    "Stepped",
    "law_from_dict",
]
