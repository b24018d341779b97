"""Randomized response in blocks (RRBA): tables of fakes that are learned from earlier blocks, at a loss that holds.

rounds      the block protocol, pooled, with the true epsilon fixed
modified    one set of attributes for each respondent (M1), or one coin for each set (M2)
paper       what was published, literally; not private, and it says so
"""
