"""Local randomisers, their estimators, and the choice between them."""
