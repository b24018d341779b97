"""One file for each way to fit a regression privately."""
