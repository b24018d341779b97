"""Robustness of decisions to noise: flip probabilities, private tests of independence, stability of links."""
