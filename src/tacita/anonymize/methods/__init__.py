"""Ways to find a recoding: Mondrian, full-domain lattices, Bayardo's search, k^m-anonymity."""
