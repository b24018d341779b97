"""What pages are made of: widgets, and the computations behind them."""
