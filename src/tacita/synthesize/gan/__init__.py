"""Generators that learn from a critic which learns privately, and from private tables. Needs the extra `nets`."""
