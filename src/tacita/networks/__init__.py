"""Bayesian networks over a domain: what attributes tell about each other, structures, parameters, made-up rows.

Works on tables of shares, whoever made them. Nothing here looks at rows or adds noise: what comes out costs what the
tables did, and tables that were exact make a network that is as sensitive as they are.
"""

from tacita.networks.bif import read_bif, write_bif
from tacita.networks.chow_liu import chow_liu
from tacita.networks.fit import fit_network
from tacita.networks.greedy import greedy_parents, useful_cells
from tacita.networks.information import bias_bits, entropy, mutual_information, noise_bits
from tacita.networks.network import Network
from tacita.networks.synthetic import synthetic_rows

__all__ = [
    "Network",
    "bias_bits",
    "chow_liu",
    "entropy",
    "fit_network",
    "greedy_parents",
    "mutual_information",
    "noise_bits",
    "read_bif",
    "synthetic_rows",
    "useful_cells",
    "write_bif",
]
