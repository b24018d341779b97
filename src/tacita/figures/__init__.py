"""Figures as SVG text in one style: for reports, the console, notebooks and files."""
