"""Asks by psycopg: types, parameters in text and as bytes, cursors, cancelling. Argument: the port."""

import datetime
import decimal
import sys
import threading

import psycopg
from psycopg.rows import dict_row

PLACE = f"host=127.0.0.1 port={sys.argv[1]} user=ada dbname=default"
TRACE = "5b8efff798038103d269b633813fc60c"
UTC = datetime.timezone.utc


def same(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


with psycopg.connect(PLACE, autocommit=True) as connection:
    same(connection.info.server_version, 150000)
    same(connection.execute("SELECT 1").fetchone(), (1,))

    # The same values in both formats.
    types = """SELECT trace_id, start_time, duration_nanos, kind, attributes, duration_nanos / 1e9 AS secs,
               status = 'error' AS failed, parent_span_id
               FROM spans WHERE name = 'GET /cart'"""
    rows = [connection.execute(types, binary=binary).fetchone() for binary in (False, True)]
    same(rows[0], rows[1])
    trace_id, start, duration, kind, attributes, secs, failed, parent = rows[0]
    same((trace_id, duration, kind, secs, failed, parent), (TRACE, 250000000, "server", 0.25, False, None))
    same(start, datetime.datetime(2026, 1, 1, 10, tzinfo=UTC))
    same(attributes["http.request.method"], "GET")
    lists = "SELECT bucket_bounds, bucket_counts, count FROM points WHERE bucket_bounds IS NOT NULL LIMIT 1"
    text, binary = (connection.execute(lists, binary=binary).fetchone() for binary in (False, True))
    same(text, binary)
    assert isinstance(text[0], list) and all(isinstance(bound, float) for bound in text[0]), text

    # Parameters, of types that psycopg chooses, and of none.
    by = "SELECT count(*) FROM spans WHERE"
    for condition, value, expected in [
        ("trace_id = %s", TRACE, 3),
        ("start_time >= %s", datetime.datetime(2026, 1, 1, 10, tzinfo=UTC), None),
        ("duration_nanos > %s", 200_000_000, None),
        ("duration_nanos > %b", 200_000_000, None),
        ("duration_nanos / 1e9 > %s", 0.2, None),
        ("duration_nanos > %s", decimal.Decimal("200000000"), None),
        ("name LIKE %s", "GET%", 2),
        ("status IS NOT DISTINCT FROM %s", None, None),
        ("name = %s", "a' OR '1' = '1", 0),
        ("trace_id = ANY(%s)", [TRACE, "0" * 32], 3),
        ("trace_id <> ALL(%s)", [TRACE], 4),
        ("duration_nanos = ANY(%s)", [250_000_000, 1], None),
        ("name = ANY(%s)", [], 0),
    ]:
        count = connection.execute(f"{by} {condition}", [value]).fetchone()[0]
        assert expected is None or count == expected, (condition, count)

    # The same number in both formats, though a double does not have it.
    whole = decimal.Decimal("1767261600000000001")
    for place in ("%t", "%b"):
        same(connection.execute(f"SELECT {place} - 1767261600000000000", [whole]).fetchone()[0], 1)

    # Prepared statements, with columns by name as PostgreSQL names them.
    with connection.cursor(row_factory=dict_row) as cursor:
        for number in range(8):
            cursor.execute("SELECT count(*), max(duration_nanos) FROM spans WHERE duration_nanos > %s",
                           [number], prepare=True)
            row = cursor.fetchone()
            same(sorted(row), ["count", "max"])

    # An error leaves the connection as it was.
    for query, error in [
        ("SELECT * FROM nothing", psycopg.errors.UndefinedTable),
        ("SELECT nothing FROM spans", psycopg.errors.UndefinedColumn),
        ("SELEC 1", psycopg.errors.SyntaxError),
        ("DELETE FROM spans", psycopg.errors.ReadOnlySqlTransaction),
    ]:
        try:
            connection.execute(query)
            raise AssertionError(query)
        except error:
            pass
    same(connection.execute("SELECT 2").fetchone(), (2,))
    connection.execute("SET statement_timeout = '20ms'")
    slow = "SELECT count(*) FROM generate_series(1, 200000) a, generate_series(1, 200000) b WHERE a.value % 7 = b.value % 5"
    try:
        connection.execute(slow)
        raise AssertionError("that took no time")
    except psycopg.errors.QueryCanceled:
        pass
    connection.execute("RESET statement_timeout")

    # Cancelled from another connection.
    timer = threading.Timer(0.3, connection.cancel)
    timer.start()
    try:
        connection.execute(slow)
        raise AssertionError("that took no time")
    except psycopg.errors.QueryCanceled:
        pass
    timer.join()
    same(connection.execute("SELECT 3").fetchone(), (3,))

    # Many rows, as they come.
    with connection.cursor() as cursor:
        total = sum(row[0] for row in cursor.stream("SELECT value FROM generate_series(1, 50000)"))
        same(total, 50000 * 50001 // 2)

# Transactions and cursors of the server.
with psycopg.connect(PLACE) as connection:
    with connection.cursor(name="rows") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT value FROM generate_series(1, 1000)")
        same(cursor.fetchmany(3), [(1,), (2,), (3,)])
        same(len(cursor.fetchall()), 997)
    with connection.cursor(name="given") as cursor:
        cursor.execute("SELECT value FROM generate_series(1, 1000) WHERE value > %s", [990])
        same(len(cursor.fetchall()), 10)
    connection.rollback()
    # What fails within a savepoint is taken back to it.
    with connection.transaction():
        try:
            with connection.transaction():
                connection.execute("SELECT * FROM nothing")
            raise AssertionError("that is not there")
        except psycopg.errors.UndefinedTable:
            pass
        same(connection.execute("SELECT 4").fetchone(), (4,))
    with connection.pipeline():
        cursors = [connection.execute("SELECT %s::bigint", [number]) for number in range(10)]
        same([cursor.fetchone()[0] for cursor in cursors], list(range(10)))

print("done")
