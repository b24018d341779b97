"""Collections in MongoDB, coded and counted by the server where it can."""

from tacita.engines.mongo.engine import MongoEngine

__all__ = ["MongoEngine"]
