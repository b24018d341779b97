"""Analyses of collected tables: tests, Bayesian networks, rules, influence of false reports."""
