"""Utility of a release: marginals, associations, estimates, queries, models, and fairness between groups."""
