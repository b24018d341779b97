"""Campaigns: each of many people is asked one view of the questions, and their reports are counted.

    draft  ->  open  ->  closed          block 1, 2, .. inside open, when the owner asked for rounds

This is the aggregator's side. It sees only reports. It counts them and keeps only their ids, so that none counts twice
(and the reports themselves only if the owner asked for that).
"""

from tacita.collect.campaigns.campaign import Campaign
from tacita.collect.campaigns.intake import Accepted, Batch
from tacita.collect.campaigns.store import Campaigns
from tacita.collect.campaigns.terms import Rounds, Terms

__all__ = ["Accepted", "Batch", "Campaign", "Campaigns", "Rounds", "Terms"]
