"""The respondent's device: questions, exact draws, the ledger of its losses. Standard library only."""
