"""Uses a server's tools with the client of the Model Context Protocol's own SDK for Python.

    tools.py URL TRACE_ID MODE [TENANT]

MODE is the SDK's: "legacy" begins with a handshake, "auto" finds out what the server speaks. Prints
one JSON object with what the server answered.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, trace_id, mode = sys.argv[1:4]
headers = {"X-Scope-OrgID": sys.argv[4]} if len(sys.argv) > 4 else {}

DAY = {"start": "2026-01-02T00:00:00Z", "end": "2026-01-03T00:00:00Z"}
CALLS = [
    ("traceql-search", {"query": "{ status = error }", **DAY}),
    ("traceql-search", {"query": "{ status = 'error' }"}),
    ("traceql-metrics-instant", {"query": "{ } | count_over_time() by (resource.service.name)", **DAY}),
    ("traceql-metrics-range", {"query": "{ } | rate()", "step": "6h", **DAY}),
    ("get-trace", {"trace_id": trace_id}),
    ("get-attribute-names", {"scope": "span"}),
    ("get-attribute-values", {"name": "resource.service.name"}),
    ("sql", {"query": "SELECT count(*) AS spans FROM spans"}),
    ("docs-traceql", {"name": "basic"}),
]


async def main():
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = await client.list_tools()
        resources = await client.list_resources()
        read = await client.read_resource("docs://sql")
        calls = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            calls.append({"tool": name, "is_error": result.is_error, "text": result.content[0].text})
        version = client.protocol_version
    answered = {
        "version": version,
        "tools": [tool.name for tool in tools.tools],
        "resources": [str(resource.uri) for resource in resources.resources],
        "read": read.contents[0].text,
        "calls": calls,
    }
    print(json.dumps(answered))


asyncio.run(main())
