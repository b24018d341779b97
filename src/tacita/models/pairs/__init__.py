"""Models of measured pairs: a mixture and a tree together, tables set right, and rows that have these tables."""
