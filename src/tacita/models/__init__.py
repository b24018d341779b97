"""Bayesian networks and mixtures over a domain: structures, fits to tables, inference, synthetic rows.

Works on tables of shares from any source. Nothing here reads rows or adds noise: a model costs what its tables cost,
and exact tables make a network that is as sensitive as they are.
"""

from tacita.models.bif import read_bif, write_bif
from tacita.models.blend import Blend
from tacita.models.chow_liu import chow_liu
from tacita.models.discrete_score import DiscreteCounts, DiscreteScore
from tacita.models.draw import draw_comparison, draw_network, place_network
from tacita.models.exact_search import best_parents
from tacita.models.fit import fit_network
from tacita.models.greedy import greedy_parents, useful_cells
from tacita.models.hill_climb import hill_climb
from tacita.models.inference import conditional, rejected_rows, weighted_rows
from tacita.models.information import bias_bits, entropy, mutual_information, noise_bits
from tacita.models.links import compare_links, cpdag, shd
from tacita.models.measurement import Measurement
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import fit_latent_classes, fit_mixture
from tacita.models.network import BayesianNetwork
from tacita.models.search import LinkRules, Search, total_score
from tacita.models.synthetic import synthetic_rows

__all__ = [
    "BayesianNetwork",
    "Blend",
    "DiscreteCounts",
    "DiscreteScore",
    "LinkRules",
    "Measurement",
    "Mixture",
    "Search",
    "best_parents",
    "bias_bits",
    "chow_liu",
    "compare_links",
    "conditional",
    "cpdag",
    "draw_comparison",
    "draw_network",
    "entropy",
    "fit_latent_classes",
    "fit_mixture",
    "fit_network",
    "greedy_parents",
    "hill_climb",
    "mutual_information",
    "noise_bits",
    "place_network",
    "read_bif",
    "rejected_rows",
    "shd",
    "synthetic_rows",
    "total_score",
    "useful_cells",
    "weighted_rows",
    "write_bif",
]
