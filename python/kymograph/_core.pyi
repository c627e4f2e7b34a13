"""The native part of kymograph. Times are seconds since 1970 unless said otherwise."""

import os
from contextlib import AbstractContextManager
from typing import Any, Callable, Mapping, Optional, Union

__version__: str

class Event:
    """Something that happened."""

    @property
    def name(self) -> str: ...
    @property
    def time(self) -> float: ...
    @property
    def emit_time(self) -> float: ...
    @property
    def task_id(self) -> Optional[str]: ...
    @property
    def backend(self) -> Optional[str]: ...
    @property
    def node_id(self) -> Optional[str]: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def span_id(self) -> Optional[str]: ...
    @property
    def span_name(self) -> Optional[str]:
        """The name of the span that begins with it."""
    @property
    def parent_span_id(self) -> Optional[str]:
        """The span that that one lies in."""
    @property
    def attributes(self) -> dict[str, Any]: ...

class Channel:
    """Events on their way to subscribers."""

    def take(self, most: int, timeout: float) -> Optional[list[Event]]: ...

class Task:
    """A task of a session. Any state may be left out; the first end counts."""

    @property
    def id(self) -> str: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def span_id(self) -> str: ...
    @property
    def traceparent(self) -> str:
        """Its span for other processes, as W3C has it."""
    @property
    def has_ended(self) -> bool: ...
    def submitted(self, time: Optional[float] = None) -> None:
        """It is handed over, to a scheduler or backend."""
    def queued(self, time: Optional[float] = None) -> None:
        """It waits for a place."""
    def started(self, node_id: Optional[str] = None, time: Optional[float] = None) -> None:
        """It runs."""
    def completed(self, time: Optional[float] = None) -> None:
        """It has ended well."""
    def failed(
        self,
        error: Union[BaseException, type, str],
        message: Optional[str] = None,
        time: Optional[float] = None,
    ) -> None:
        """It has failed: by an exception, a class of them, or a type's name."""
    def canceled(self, time: Optional[float] = None) -> None:
        """It was called off."""
    def annotate(self, name: str, attributes: Optional[Mapping[str, Any]] = None) -> None:
        """Something happened in it."""
    def context(self) -> AbstractContextManager["Task"]:
        """``with task.context():`` makes it the current span."""

class OpenSpan:
    """A span of the program's own that somebody ends."""

    @property
    def trace_id(self) -> str: ...
    @property
    def span_id(self) -> str: ...
    @property
    def traceparent(self) -> str: ...
    def annotate(self, name: str, attributes: Optional[Mapping[str, Any]] = None) -> None:
        """Something happened in it."""
    def set_attribute(self, key: str, value: Any) -> None:
        """More is known of it."""
    def set_attributes(self, attributes: Mapping[str, Any]) -> None: ...
    def end(self, time: Optional[float] = None) -> None:
        """It has ended. Only the first end counts."""
    def fail(self, message: str, time: Optional[float] = None) -> None:
        """It has ended with an error."""
    def context(self) -> AbstractContextManager["OpenSpan"]:
        """``with span.context():`` makes it the current span; it does not end it."""

class Session:
    """What :class:`kymograph.Session` is made of."""

    def __new__(
        cls,
        name: str,
        *,
        id: Optional[str],
        service_name: Optional[str],
        backend: Optional[str],
        directory: Optional[str],
        file: Optional[str],
        endpoint: Optional[str],
        protocol: Optional[str],
        headers: list[tuple[str, str]],
        poll_interval: Optional[float],
        flush_interval: float,
        queue_events: int,
        drop_when_full: bool,
        keep_spans: int,
        attributes: Optional[Mapping[str, Any]],
        parent: Optional[str],
        use_environment_parent: bool,
        debug: bool,
    ) -> "Session": ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def trace_id(self) -> str:
        """32 hex digits."""
    @property
    def span_id(self) -> str:
        """Of the session's own span: 16 hex digits."""
    @property
    def traceparent(self) -> str: ...
    @property
    def path(self) -> Optional[str]:
        """The checkpoint, if there is one."""
    @property
    def is_ended(self) -> bool:
        """Whether it was closed, or belongs to the parent of this process."""
    def create_task(
        self,
        name: str,
        *,
        id: Optional[str] = None,
        backend: Optional[str] = None,
        node_id: Optional[str] = None,
        executable: Optional[str] = None,
        task_type: Optional[str] = None,
        attributes: Optional[Mapping[str, Any]] = None,
        parent: Union["Session", Task, OpenSpan, str, None] = None,
        time: Optional[float] = None,
    ) -> Task:
        """A task that is told by hand. It lies in the current span unless ``parent`` is given: a
        task, a span, 16 hex digits or a traceparent. A ``time`` that is none (not finite, negative,
        after the year 2199) is now, here as everywhere."""
    def start_span(
        self,
        name: str,
        attributes: Optional[Mapping[str, Any]] = None,
        *,
        parent: Union["Session", Task, OpenSpan, str, None] = None,
    ) -> OpenSpan:
        """A span that is ended by hand; :meth:`kymograph.Session.span` is the same as a ``with``."""
    def annotate(self, name: str, attributes: Optional[Mapping[str, Any]] = None) -> None:
        """Something happened in the current span, else in the session."""
    def enrich(self, enricher: Callable[[Event], Optional[Mapping[str, Any]]]) -> None:
        """Asks a function for more attributes of every task, when it is created."""
    def task_count(self) -> dict[str, int]:
        """Tasks by state."""
    def flush(self, timeout: float = 5.0) -> bool:
        """Waits until everything so far is in the file, synced, and sent; false if that takes
        longer. Raises ``ValueError`` for a timeout that is none."""
    def _emit(
        self,
        name: str,
        fields: dict[str, Any],
        task_id: Optional[str],
        backend: Optional[str],
        node_id: Optional[str],
        time: Optional[float],
        emit_time: Optional[float],
    ) -> None: ...
    def _channel(self) -> Optional[Channel]: ...
    def _fail(self, message: str) -> None: ...
    def _end(self, timeout: float) -> bool: ...
    def _summary(self) -> dict[str, Any]: ...
    def _spans(self) -> list[tuple[Any, ...]]: ...
    def _metrics(self) -> list[tuple[Any, ...]]: ...
    def _resources(self) -> list[tuple[Any, ...]]: ...
    def _stats(self) -> dict[str, Any]: ...

class NodeProbe:
    """What this node does, again and again."""

    def __new__(cls, *, gpu: bool = True) -> "NodeProbe": ...
    def poll(self) -> dict[str, Any]:
        """What it does now and did since the last call; what is not known is ``None``."""

def check_event(name: str, fields: list[str]) -> None: ...
def forked_in_child() -> None: ...
def read_config(path: Union[str, "os.PathLike[str]"]) -> dict[str, Any]: ...
def export_settings(
    endpoint: Optional[str], protocol: Optional[str], headers: list[tuple[str, str]]
) -> dict[str, Any]: ...
