"""Privacy at risk, the cost of a loss of privacy, and sampled sensitivity."""
