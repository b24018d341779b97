"""Cell suppression: tables of counts or sums in which no small or dominated cell can be computed from the others."""
