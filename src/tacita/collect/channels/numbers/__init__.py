"""Channels of numbers: means and distributions, in bins or without."""
