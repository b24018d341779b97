"""A parent table and its children, synthesised together."""
