"""`export_as_otlp()`: finished spans as one OTLP/JSON request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def otlp_json(spans: Iterable[Any], resource: Mapping[str, Any]) -> str:
    """The request as text. Ids are hexadecimal, numbers of 64 bits strings, as OTLP/JSON has it."""
    scope_spans = {"scope": {"name": "rhapsody"}, "spans": [_span(span) for span in spans]}
    request = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope_spans]}
    return json.dumps({"resourceSpans": [request]})


def _span(span: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"code": span.status.status_code.value}
    if span.status.description:
        status["message"] = span.status.description
    written = {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
        "name": span.name,
        # The API's kinds begin with INTERNAL = 0, the protocol's with UNSPECIFIED = 0.
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": _attributes(span.attributes),
        "status": status,
    }
    if span.parent is not None:
        written["parentSpanId"] = f"{span.parent.span_id:016x}"
    if span.events:
        written["events"] = [
            {
                "timeUnixNano": str(event.timestamp),
                "name": event.name,
                "attributes": _attributes(event.attributes or {}),
            }
            for event in span.events
        ]
    return written


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)}
