"""Asks by ADBC's driver of Flight SQL. Argument: the address."""

import sys

import adbc_driver_flightsql.dbapi as flight
import pyarrow

TRACE = "5b8efff798038103d269b633813fc60c"


def same(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def refused(act, word):
    try:
        act()
    except flight.Error as error:
        assert word in str(error), error
        return
    raise AssertionError(f"that was not refused: {word}")


with flight.connect(sys.argv[1], autocommit=True) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT name, duration_nanos, start_time, trace_id, kind FROM spans ORDER BY start_time, name")
    table = cursor.fetch_arrow_table()
    same(table.num_rows, 7)
    same(table.schema.field("duration_nanos").type, pyarrow.int64())
    same(table.schema.field("start_time").type, pyarrow.timestamp("ns", "UTC"))
    same(table.schema.field("kind").type, pyarrow.string())
    same(table.schema.field("trace_id").type, pyarrow.binary(16))

    # Two signals together.
    cursor.execute("SELECT s.name, l.body FROM spans s JOIN logs l ON s.trace_id = l.trace_id "
                   "AND s.span_id = l.span_id ORDER BY l.time")
    same(cursor.fetchall(), [("GET /cart", "cart opened"), ("charge", "card refused: 51")])

    # Parameters, by either way of writing them.
    cursor.execute("SELECT count(*) FROM spans WHERE trace_id = $1 AND duration_nanos > $2", (TRACE, 0))
    same(cursor.fetchall(), [(3,)])
    cursor.execute("SELECT count(*) FROM spans WHERE name = ?", ("a' OR '1' = '1",))
    same(cursor.fetchall(), [(0,)])

    # Many rows, as they come.
    cursor.execute("SELECT value FROM generate_series(1, 100000)")
    reader = cursor.fetch_record_batch()
    same(sum(batch.num_rows for batch in reader), 100000)

    # A client that has enough ends the query; whoever runs this looks whether it has ended.
    with connection.cursor() as other:
        other.execute("SELECT value FROM generate_series(1, 1000000000)")
        assert other.fetch_record_batch().read_next_batch().num_rows > 0

    # What there is.
    same(sorted(connection.adbc_get_table_types()), ["TABLE"])
    objects = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
    tables = objects[0]["catalog_db_schemas"][0]["db_schema_tables"]
    same(sorted(table["table_name"] for table in tables), ["events", "links", "logs", "points", "spans", "traces"])
    spans = next(table for table in tables if table["table_name"] == "spans")
    assert "trace_id" in [column["column_name"] for column in spans["table_columns"]], spans
    schema = connection.adbc_get_table_schema("logs")
    same(schema.field("severity_number").type, pyarrow.int64())
    info = connection.adbc_get_info()
    same(info["vendor_name"], "Kymograph")

    refused(lambda: cursor.execute("SELECT * FROM nothing"), "there is no table")
    refused(lambda: cursor.execute("SELECT name FROM spans WHERE"), "syntax")
    refused(lambda: cursor.execute("DROP TABLE spans"), "only read")
    table = pyarrow.table({"a": [1]})
    refused(lambda: cursor.adbc_ingest("spans", table), "nothing is written")

print("done")
