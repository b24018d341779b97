"""Linear and logistic regression under a budget: the recipe, its choices, moments and solvers."""
