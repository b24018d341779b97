"""Fit one model to the data of several holders without pooling it: each holder adds its own noise and keeps its own
ledger, and the analyst sees only private answers.

This is differential privacy at each holder, for its own people. It is not local privacy: people trust their holder.
"""

from tacita.synthesize.federated.analyst import Party, federate
from tacita.synthesize.federated.holder import Holder, Limits
from tacita.synthesize.federated.schedule import Schedule
from tacita.synthesize.federated.splitting import split
from tacita.synthesize.federated.terms import Terms

__all__ = ["Holder", "Limits", "Party", "Schedule", "Terms", "federate", "split"]
