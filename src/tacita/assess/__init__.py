"""Disclosure risk and utility of a release: attacks, utility measures, and an auditor of mechanisms.

Everything here reads real rows and is meant for their owner. The results may be sensitive themselves, and say so.
"""
