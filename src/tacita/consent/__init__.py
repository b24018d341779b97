"""Who may be used for what: consent as an interface, a local implementation, and an engine that honours it."""

from tacita.consent.engine import ConsentedEngine
from tacita.consent.filter import ConsentFilter, Who
from tacita.consent.records import Consent, ConsentFile, ConsentRecords

__all__ = ["Consent", "ConsentFile", "ConsentFilter", "ConsentRecords", "ConsentedEngine", "Who"]
