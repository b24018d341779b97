"""Durable state: the database, its tables and their migrations."""

from tacita.store.clock import aware, now
from tacita.store.database import Database

__all__ = ["Database", "aware", "now"]
