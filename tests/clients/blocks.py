"""Reads blocks with DuckDB and pandas. Argument: the directory of blocks. Prints lines of names and values."""

import sys

import duckdb
import pandas

root = sys.argv[1]


def table(signal):
    return f"read_parquet('{root}/*/{signal}/*/*.parquet', union_by_name = true)"


def tell(name, value):
    print(f"{name}  {value}")


def one(query):
    return duckdb.sql(query).fetchall()[0][0]


tell("spans", one(f"SELECT count(*) FROM {table('spans')}"))
tell("logs", one(f"SELECT count(*) FROM {table('logs')}"))
tell("series", one(f"SELECT count(*) FROM {table('series')}"))
tell("services", one(
    f"""SELECT string_agg(service, ',' ORDER BY service)
        FROM (SELECT DISTINCT "resource.service.name" AS service FROM {table('spans')})"""))
tell("joined", one(
    f"""SELECT count(*) FROM {table('spans')} s JOIN {table('logs')} l
        ON s.trace_id = l.trace_id AND s.span_id = l.span_id"""))
# The whole tree at once, as the README says it.
assert one(f"SELECT count(*) FROM '{root}/*/spans/**/*.parquet'") > 0
columns = {row[0]: row[1] for row in duckdb.sql(f"DESCRIBE SELECT * FROM {table('spans')}").fetchall()}
assert columns["start_time"].startswith("TIMESTAMP"), columns["start_time"]
assert columns["duration_nanos"] == "BIGINT", columns["duration_nanos"]

frames = [pandas.read_parquet(path) for (path,) in
          duckdb.sql(f"SELECT file FROM glob('{root}/*/spans/*/*.parquet')").fetchall()]
frame = pandas.concat(frames)
slowest = frame.sort_values("duration_nanos", ascending=False).iloc[0]
tell("slowest", slowest["name"])
assert str(frame["start_time"].dtype).startswith("datetime64[ns"), frame["start_time"].dtype
