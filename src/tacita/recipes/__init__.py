"""Paid answers: each kind maps a request to a recipe, and its answer to a document and a table.

The command line, the REST interface and clients read one table of them: `tacita.recipes.registry.RECIPES`.
"""
