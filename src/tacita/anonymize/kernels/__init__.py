"""Compiled loops of anonymization: boxes, cuts, gathered classes, exchanges, groups, whether a group may be a class."""
