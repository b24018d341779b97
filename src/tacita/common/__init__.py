"""Helpers that know nothing of privacy: compiled loops, text formats, exact intervals, lazy packages."""
