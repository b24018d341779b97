"""Compiled loops of anonymization: boxes, cuts, groups, and whether a group may be a class."""
