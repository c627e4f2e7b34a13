"""What a session knows, as plain objects and as tables.

Lists of records are lists; :meth:`Records.to_arrow`, :meth:`Records.to_pandas` and
:meth:`Records.to_polars` make tables of them. In a table, columns are called as in SQL on the same
data (``docs/sql.md``): an attribute of a span is ``span.task_id``, a label of a metric
``label.backend``.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, Generic, List, Optional, Tuple, TypeVar, Union

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclasses.dataclass(frozen=True)
class SpanEvent:
    """Something that happened in a span."""

    name: str
    time: float
    attributes: Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Span:
    """A span that has ended. Times are seconds since 1970."""

    name: str
    trace_id: str
    span_id: str
    parent_span_id: Optional[str]
    start_nanos: int
    end_nanos: int
    #: ``unset``, ``ok`` or ``error``.
    status: str
    status_message: str
    attributes: Dict[str, Any]
    events: List[SpanEvent]

    @property
    def start_time(self) -> float:
        """When it began."""
        return self.start_nanos / 1e9

    @property
    def end_time(self) -> float:
        """When it ended."""
        return self.end_nanos / 1e9

    @property
    def duration_seconds(self) -> float:
        """How long it took."""
        return (self.end_nanos - self.start_nanos) / 1e9

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain values."""
        return {**dataclasses.asdict(self), "duration_seconds": self.duration_seconds}


@dataclasses.dataclass(frozen=True)
class MetricPoint:
    """An instrument with one combination of labels, as it stands."""

    name: str
    #: ``counter``, ``updown``, ``gauge`` or ``histogram``.
    kind: str
    unit: str
    labels: Dict[str, str]
    start_nanos: int
    time_nanos: int
    #: The value; of a histogram the sum.
    value: float
    #: Of a histogram, as is what follows.
    count: Optional[int] = None
    min: Optional[float] = None
    max: Optional[float] = None
    bucket_bounds: List[float] = dataclasses.field(default_factory=list)
    bucket_counts: List[int] = dataclasses.field(default_factory=list)

    @property
    def time(self) -> float:
        """When it was read, in seconds since 1970."""
        return self.time_nanos / 1e9

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain values."""
        return dataclasses.asdict(self)


#: What RHAPSODY says of a node, at a moment and in its summary.
RESOURCE_FIELDS = (
    "cpu_percent",
    "memory_percent",
    "gpu_percent",
    "disk_read_bytes",
    "disk_write_bytes",
    "net_sent_bytes",
    "net_recv_bytes",
)


@dataclasses.dataclass(frozen=True)
class Resource:
    """A node, or a GPU of one, as it was last."""

    time_nanos: int
    backend: Optional[str]
    node_id: str
    #: None for the node itself.
    gpu_id: Optional[int]
    #: Fields of the event that are numbers, such as ``cpu_percent``.
    values: Dict[str, float]

    @property
    def time(self) -> float:
        """When, in seconds since 1970."""
        return self.time_nanos / 1e9

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain values."""
        return dataclasses.asdict(self)


Record = TypeVar("Record", bound=Union[Span, MetricPoint, Resource])

#: Of each kind of record: columns (name, member, type), and the members that become columns of
#: their own, with what is put before their keys.
_TABLES: Dict[type, Tuple[List[Tuple[str, str, str]], Tuple[str, str]]] = {
    Span: (
        [
            ("trace_id", "trace_id", "text"),
            ("span_id", "span_id", "text"),
            ("parent_span_id", "parent_span_id", "text"),
            ("name", "name", "text"),
            ("start_time", "start_nanos", "time"),
            ("end_time", "end_nanos", "time"),
            ("duration_seconds", "duration_seconds", "number"),
            ("status", "status", "text"),
            ("status_message", "status_message", "text"),
        ],
        ("attributes", "span."),
    ),
    MetricPoint: (
        [
            ("time", "time_nanos", "time"),
            ("start_time", "start_nanos", "time"),
            ("name", "name", "text"),
            ("type", "kind", "text"),
            ("unit", "unit", "text"),
            ("value", "value", "number"),
            ("count", "count", "integer"),
            ("min", "min", "number"),
            ("max", "max", "number"),
            ("bucket_bounds", "bucket_bounds", "numbers"),
            ("bucket_counts", "bucket_counts", "integers"),
        ],
        ("labels", "label."),
    ),
    Resource: (
        [
            ("time", "time_nanos", "time"),
            ("backend", "backend", "text"),
            ("node_id", "node_id", "text"),
            ("gpu_id", "gpu_id", "integer"),
        ],
        ("values", ""),
    ),
}


class Records(List[Record], Generic[Record]):
    """A list of records that can be a table."""

    def __init__(self, kind: type, records: List[Record]) -> None:
        super().__init__(records)
        self._kind = kind

    def to_dicts(self) -> List[Dict[str, Any]]:
        """Each as plain values."""
        return [record.to_dict() for record in self]

    def to_arrow(self) -> "pyarrow.Table":
        """A table of Arrow. A key whose values are of several types is text."""
        pyarrow = _needed("pyarrow", "arrow")
        types = {
            "text": pyarrow.string(),
            "time": pyarrow.timestamp("ns", "UTC"),
            "number": pyarrow.float64(),
            "integer": pyarrow.int64(),
            "numbers": pyarrow.list_(pyarrow.float64()),
            "integers": pyarrow.list_(pyarrow.int64()),
        }
        fixed, (member, prefix) = _TABLES[self._kind]
        columns = {
            name: pyarrow.array([getattr(record, source) for record in self], type=types[kind])
            for name, source, kind in fixed
        }
        for key in sorted({key for record in self for key in getattr(record, member)}):
            values = [getattr(record, member).get(key) for record in self]
            columns[prefix + key] = _column(pyarrow, values)
        return pyarrow.table(columns)

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame of pandas."""
        _needed("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """A frame of polars."""
        frame = _needed("polars", "polars").from_arrow(self.to_arrow())
        return frame


def _column(pyarrow: Any, values: List[Any]) -> Any:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    try:
        return pyarrow.array(values)
    except pyarrow.ArrowInvalid:
        # Lists of several types.
        return pyarrow.array([None if value is None else str(value) for value in values])


def _needed(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} is needed for this: pip install 'kymograph[{extra}]'"
        ) from error
