"""Bayesian networks of numbers and of mixed columns: from moments to scores, networks, effects; and Granger tests."""

from tacita.models.continuous.effects import Effect, effect, effects_on
from tacita.models.continuous.gaussian_network import GaussianNetwork
from tacita.models.continuous.gaussian_score import BGe, GaussianBIC
from tacita.models.continuous.mixed_network import MixedNetwork
from tacita.models.continuous.mixed_score import GroupedMoments, MixedScore
from tacita.models.continuous.moments import Line, Moments
from tacita.models.continuous.noisy_moments import NoisyBIC, NoisyMoments

__all__ = [
    "BGe",
    "Effect",
    "GaussianBIC",
    "GaussianNetwork",
    "GroupedMoments",
    "Line",
    "MixedNetwork",
    "MixedScore",
    "Moments",
    "NoisyBIC",
    "NoisyMoments",
    "effect",
    "effects_on",
]
