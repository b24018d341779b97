"""Neural networks as models of rows: layers, training, the released model."""
