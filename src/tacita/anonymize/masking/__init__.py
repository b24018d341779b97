"""Masking of microdata: one file for each method, and the recipe that applies them in order."""
