"""Privacy at risk, what a loss of privacy costs, and sensitivities that are sampled."""
