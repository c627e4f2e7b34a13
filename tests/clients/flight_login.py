"""Logs in by ADBC's driver of Flight SQL. Argument: the address."""

import base64
import sys

import adbc_driver_flightsql.dbapi as flight
from adbc_driver_flightsql import DatabaseOptions


def asked(user, password, tenant=None):
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    options = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Basic {login}"}
    if tenant:
        options[DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "x-scope-orgid"] = tenant
    with flight.connect(sys.argv[1], db_kwargs=options, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM spans")
            return cursor.fetchall()


def refused(user, password, tenant, word):
    try:
        asked(user, password, tenant)
    except flight.Error as error:
        assert word in str(error), error
        return
    raise AssertionError(f"{user} was let in")


assert asked("ada", "secret") == [(0,)]
assert asked("ada", "secret", "team-a") == [(0,)]
refused("ada", "wrong", None, "nauthenticated")
refused("ada", "secret", "team-b", "team-b")
refused("sender", "secret", None, "read")

# A name and a password: the driver asks for leave first, and goes on with what it is given.
options = {"username": "ada", "password": "secret"}
with flight.connect(sys.argv[1], db_kwargs=options, autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]

print("done")
