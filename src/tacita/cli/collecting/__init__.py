"""Commands of surveys under local privacy."""
