"""Tables in PostgreSQL, counted by the server or streamed as codes."""

from tacita.engines.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
