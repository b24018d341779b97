"""Networks trained privately: sampling, clipping, noise on a grid, one training loop. Needs the extra `nets`."""
