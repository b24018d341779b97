"""What a release gives away, and what it is still worth: attacks, utility, and an auditor of mechanisms.

Everything here reads real rows: it is for their owner. What it finds may itself be sensitive, and says so.
"""
