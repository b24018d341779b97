"""Datasets, their sources and what their owner allows."""
