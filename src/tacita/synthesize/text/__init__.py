"""Synthetic headlines: recurrent networks of words, tags and topics, their measures, and canaries.

Training needs the extra `nets`.
"""
