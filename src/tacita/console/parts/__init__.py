"""Parts of pages: widgets, and the computations behind them."""
