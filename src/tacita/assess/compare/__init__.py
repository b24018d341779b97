"""Comparison of releases: simulate several, assess them in the same way, and recommend one with reasons.

Everything here works on exact rows and with repeatable noise: the results are for the owner of the data.
"""
