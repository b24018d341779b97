"""The respondent's device: questions, exact draws, the account of what was spent. Standard library only."""
