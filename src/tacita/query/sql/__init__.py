"""A subset of SQL, compiled to private statistics and to what is computed from them afterwards."""

from tacita.query.sql.compiling import compile_sql, table_of, tables_of
from tacita.query.sql.dimensions import Dimension, read_dimension
from tacita.query.sql.query import CalibratedQuery, SqlQuery

__all__ = ["CalibratedQuery", "Dimension", "SqlQuery", "compile_sql", "read_dimension", "table_of", "tables_of"]
