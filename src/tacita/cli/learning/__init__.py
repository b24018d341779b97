"""Commands of models and functions."""
