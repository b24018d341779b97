"""Intervals of a model's shares and counts, from the noisy tables that the model was fitted to."""
