"""Tables that an engine keeps: files through DuckDB, PostgreSQL, Spark, and whatever else ibis speaks to."""
