"""Mobility: tap records of public transport, their communities, and synthetic ones with or without a guarantee."""
