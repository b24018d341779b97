"""Disclosure risk of microdata: how likely records are found by their quasi-identifiers. For the owner."""
