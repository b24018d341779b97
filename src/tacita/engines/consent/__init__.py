"""Consent of people to purposes: an interface, a local implementation, and an engine that applies it."""

from tacita.engines.consent.engine import ConsentedEngine
from tacita.engines.consent.filter import ConsentFilter, Who
from tacita.engines.consent.records import Consent, ConsentFile, ConsentRecords

__all__ = ["Consent", "ConsentFile", "ConsentFilter", "ConsentRecords", "ConsentedEngine", "Who"]
