"""Releases of all kinds: planned, paid for, made by a job, kept and fetched."""
