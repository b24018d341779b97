"""Numbers and dates kept as numbers: bins found privately, and values drawn inside them."""
