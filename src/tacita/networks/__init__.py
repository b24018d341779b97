"""Bayesian networks over a domain: what attributes tell about each other, structures, parameters, made-up rows.

Works on tables of shares, whoever made them. Nothing here looks at rows or adds noise: what comes out costs what the
tables did, and tables that were exact make a network that is as sensitive as they are.
"""

from tacita.networks.bif import read_bif, write_bif
from tacita.networks.blend import Blend
from tacita.networks.chow_liu import chow_liu
from tacita.networks.draw import draw_network
from tacita.networks.exact_search import best_parents
from tacita.networks.fit import fit_network
from tacita.networks.greedy import greedy_parents, useful_cells
from tacita.networks.hill_climb import hill_climb
from tacita.networks.inference import conditional, rejected_rows, weighted_rows
from tacita.networks.information import bias_bits, entropy, mutual_information, noise_bits
from tacita.networks.mixture import Mixture
from tacita.networks.network import Network
from tacita.networks.synthetic import synthetic_rows

__all__ = [
    "Blend",
    "Mixture",
    "Network",
    "best_parents",
    "bias_bits",
    "chow_liu",
    "conditional",
    "draw_network",
    "entropy",
    "fit_network",
    "greedy_parents",
    "hill_climb",
    "mutual_information",
    "noise_bits",
    "read_bif",
    "rejected_rows",
    "synthetic_rows",
    "useful_cells",
    "weighted_rows",
    "write_bif",
]
