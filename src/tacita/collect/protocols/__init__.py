"""Whole protocols of collection beside the planner's: RRBA in blocks, Fourier coefficients, mixed records.

rrba_rounds      randomized response in blocks, pooled, with the true epsilon fixed
adaptive_matrix  the same blocks with a matrix that is refitted to what was learnt
rrba_modified    one set of attributes for each respondent (M1), or one coin for each set (M2)
rrba_paper       what was published, literally; not private, and it says so
"""
