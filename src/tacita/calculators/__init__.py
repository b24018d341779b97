"""Calculators: what a setting means or costs, from public numbers alone. They read no data and spend no budget.

The command line, the REST interface, clients and the console read one table of them:
`tacita.calculators.registry.CALCULATORS`.
"""
