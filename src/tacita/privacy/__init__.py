"""Privacy units, budgets, events, accountants, and the ledger that events are charged to."""
