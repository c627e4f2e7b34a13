"""Python's ``logging`` as log records of OpenTelemetry, each once.

A handler of our own on the root logger, beside those that are there; without any, warnings go to
stderr as before. The SDK's handler and that of
``opentelemetry-instrumentation-logging`` do the same; where one of them is on the root logger, now
or later, ours is silent, since every record would be sent twice.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from typing import Any, Dict

#: Members that every record has; others are what the program added (``extra=``).
_OWN_MEMBERS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: Loggers of what sends: their records would make more records.
_OWN_LOGGERS = ("opentelemetry.exporter", "opentelemetry.sdk", "grpc", "urllib3")
#: Severities of OpenTelemetry, by level.
_SEVERITIES = (
    (50, 21, "FATAL"),
    (40, 17, "ERROR"),
    (30, 13, "WARN"),
    (20, 9, "INFO"),
    (10, 5, "DEBUG"),
)


class Handler(logging.Handler):
    """Sends records to a provider of loggers."""

    def __init__(self, provider: Any, level: int) -> None:
        super().__init__(level)
        self._provider = provider
        self._seen: Any = None
        self._is_alone = True
        self._busy = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(_OWN_LOGGERS) or getattr(self._busy, "is_busy", False):
            return
        if not self._is_only_one():
            return
        if logging.lastResort is not None and not self._is_heard(record.name):
            # What nobody handles goes to stderr; a handler that sends must not change that.
            if record.levelno >= logging.lastResort.level:
                logging.lastResort.handle(record)
        self._busy.is_busy = True
        try:
            self._provider.get_logger(record.name).emit(self._record(record))
        except Exception:
            self.handleError(record)
        finally:
            self._busy.is_busy = False

    def _is_only_one(self) -> bool:
        handlers = logging.getLogger().handlers
        # Looked at again only if it changed.
        seen = tuple(map(id, handlers))
        if seen != self._seen:
            self._seen = seen
            self._is_alone = not any(_is_opentelemetrys(handler) for handler in handlers)
        return self._is_alone

    def _is_heard(self, name: str) -> bool:
        """Whether a logger has another handler than this."""
        logger: Any = logging.getLogger(name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return True
            logger = logger.parent if logger.propagate else None
        return False

    def _record(self, record: logging.LogRecord) -> Any:
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.context import get_current

        number, text = 1, "TRACE"
        for level, severity, word in _SEVERITIES:
            if record.levelno >= level:
                number, text = severity, word
                break
        return LogRecord(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time.time_ns(),
            context=get_current(),
            severity_text=text,
            severity_number=SeverityNumber(number),
            body=record.getMessage(),
            attributes=_attributes(record),
        )


def _is_opentelemetrys(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("opentelemetry.")


def _attributes(record: logging.LogRecord) -> Dict[str, Any]:
    attributes: Dict[str, Any] = {
        key: value if isinstance(value, (bool, int, float, str)) else str(value)
        for key, value in vars(record).items()
        if key not in _OWN_MEMBERS and value is not None
    }
    attributes["code.file.path"] = record.pathname
    attributes["code.function.name"] = record.funcName
    attributes["code.line.number"] = record.lineno
    if record.exc_info and record.exc_info[0] is not None:
        kind, error, _ = record.exc_info
        attributes["exception.type"] = kind.__name__
        attributes["exception.message"] = str(error)
        attributes["exception.stacktrace"] = "".join(traceback.format_exception(*record.exc_info))
    return attributes
