"""Where randomness comes from, and the laws of the noise that is added."""

from tacita.noise.gaussian import DiscreteGaussian
from tacita.noise.laplace import DiscreteLaplace
from tacita.noise.law import Law, law_from_dict
from tacita.noise.source import SecureSource, SeededSource, Source

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Law",
    "SecureSource",
    "SeededSource",
    "Source",
    "law_from_dict",
]
