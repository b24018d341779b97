"""Ways to find a recoding: Mondrian, local recoding, full-domain lattices, Bayardo's search, k^m-anonymity."""
