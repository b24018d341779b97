"""From counted reports to tables: tallies, pooling, consistency, latent classes, the choice of an estimator."""
