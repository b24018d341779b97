"""Generalisation hierarchies: trees of values, rules that make them, files, and what each level loses."""
