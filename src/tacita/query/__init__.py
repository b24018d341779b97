"""Private statistics: plan, charge, answer."""

from tacita.query.session import Session
from tacita.query.statistics import Statistic, mean, quantile, share, total

__all__ = ["Session", "Statistic", "mean", "quantile", "share", "total"]
