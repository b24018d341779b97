"""Criteria on the classes of a table: k, l, t, alpha, presence and others, each one object in one file."""

from tacita.anonymize.criteria.alpha import alpha_of
from tacita.anonymize.criteria.anonymity import uniqueness_of
from tacita.anonymize.criteria.closeness import Distance, Edges, closeness_of, edges_of
from tacita.anonymize.criteria.conditions import Achieved, Conditions
from tacita.anonymize.criteria.criterion import Classes, Criterion, Sensitive
from tacita.anonymize.criteria.diversity import Diversity, diversity_of

__all__ = [
    "Achieved",
    "Classes",
    "Conditions",
    "Criterion",
    "Distance",
    "Diversity",
    "Edges",
    "Sensitive",
    "alpha_of",
    "closeness_of",
    "diversity_of",
    "edges_of",
    "uniqueness_of",
]
