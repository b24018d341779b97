"""Durable state: the database, its tables and their migrations."""

from tacita.store.clock import aware, now
from tacita.store.database import Database
from tacita.store.private import private_file, private_folder

__all__ = ["Database", "aware", "now", "private_file", "private_folder"]
