"""Compiled loops of anonymization: boxes, cuts, groups, gathered classes, exchanges, and whether a group may be a class."""
