"""Private statistics: plan, charge, answer."""

from tacita.plans.session import Session
from tacita.query.aggregates import Aggregate, Aggregates
from tacita.query.answer import Answer
from tacita.query.statistics import Statistic, mean, quantile, share, top, total

__all__ = ["Aggregate", "Aggregates", "Answer", "Session", "Statistic", "mean", "quantile", "share", "top", "total"]
