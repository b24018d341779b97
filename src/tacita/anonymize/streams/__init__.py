"""Anonymization of rows that keep arriving: z-anonymity and micro-batches."""
