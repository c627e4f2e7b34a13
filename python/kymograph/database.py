"""Questions about what was recorded, in SQL, TraceQL and PromQL; answers are Arrow tables.

    db = kymograph.open("train.6ffa6904.kymo.jsonl")      # a checkpoint, OTLP, RHAPSODY's file
    db = kymograph.open("./kymo-data")                    # what kymo serve or kymo import stores
    db = kymograph.open("http://localhost:3200")          # a server
    db.sql("SELECT name, count(*) FROM spans GROUP BY name").to_pandas()

The answers are found by the program ``kymo``, which is looked for on ``PATH`` or where ``KYMO_BIN``
says, and come over Arrow IPC. Files are loaded once, into a directory that goes away with the
object.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Union

if TYPE_CHECKING:
    import pyarrow

Path = Union[str, "os.PathLike[str]"]


class QueryError(Exception):
    """A question that could not be answered, in the words of whoever refused it."""


class Database:
    """Something to ask; made by :func:`kymograph.open`."""

    def __init__(
        self,
        source: List[str],
        tenant: Optional[str] = None,
        loaded: Optional["tempfile.TemporaryDirectory[str]"] = None,
        name: str = "",
    ) -> None:
        self._source = source + (["--tenant", tenant] if tenant else [])
        self._loaded = loaded
        self._name = name

    def sql(self, query: str) -> "pyarrow.Table":
        """Asks in SQL: tables are ``spans``, ``events``, ``links``, ``logs`` and ``points``."""
        # On stdin, since a query may be longer than an argument.
        return self._ask(["sql", "-"], stdin=query)

    def traceql(
        self,
        query: str,
        *,
        traces: bool = False,
        since: Optional[str] = None,
        start: Any = None,
        end: Any = None,
        step: Optional[str] = None,
        limit: Optional[int] = None,
        instant: bool = False,
    ) -> "pyarrow.Table":
        """Asks in TraceQL. ``{ … }`` gives spans, or with ``traces=True`` their traces; a query
        that ends with a function such as ``| rate()`` gives series.

        :param since: look back so far, such as ``"6h"``
        :param start: from this time: seconds since 1970, or text such as ``2026-01-02T03:04:05Z``
        :param end: until this time
        :param step: time between the points of a series, such as ``"1m"``
        :param limit: how many traces to look for
        :param instant: one number for each series, over all the time
        """
        flags = _times(since, start, end, step)
        if limit is not None:
            flags += ["--limit", str(int(limit))]
        if instant:
            flags.append("--instant")
        if not traces and not _is_metrics(query):
            flags.append("--spans")
        return self._ask(["query", *flags, "--", query])

    def promql(
        self,
        query: str,
        *,
        since: Optional[str] = None,
        start: Any = None,
        end: Any = None,
        step: Optional[str] = None,
        time: Any = None,
    ) -> "pyarrow.Table":
        """Asks in PromQL: at one ``time`` (now unless given), or over time by ``since``, ``start``
        and ``step``. Columns are the labels, ``time`` and ``value``."""
        if time is not None:
            if since is not None or start is not None or end is not None or step is not None:
                raise ValueError("time is one moment: leave it out, or since, start, end and step")
            end = time
        return self._ask(["promql", *_times(since, start, end, step), "--", query])

    def close(self) -> None:
        """Removes what was loaded. Happens by itself, too."""
        if self._loaded is not None:
            self._loaded.cleanup()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kymograph database {self._name}>"

    def _ask(self, arguments: List[str], stdin: Optional[str] = None) -> "pyarrow.Table":
        try:
            import pyarrow
            import pyarrow.ipc
        except ImportError as error:
            raise ImportError("answers are Arrow tables: pip install 'kymograph[arrow]'") from error
        command, rest = arguments[0], arguments[1:]
        done = _run([command, *self._source, "--format", "arrow", *rest], stdin)
        if done.returncode != 0:
            raise QueryError(_said(done))
        if not done.stdout:
            raise QueryError(f"kymo {command} gave no answer: {_said(done)}")
        with pyarrow.ipc.open_stream(pyarrow.py_buffer(done.stdout)) as reader:
            return reader.read_all()


def open(source: Union[Path, Iterable[Path]], *, tenant: Optional[str] = None) -> Database:
    """Opens a server by its URL, a data directory, or files (one, several, or a pattern).

    Files may be checkpoints of sessions (also while they grow: what is there is read), files of
    RHAPSODY, and OTLP as JSON lines or protobuf.
    """
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        if text.startswith(("http://", "https://")):
            return Database(["--url", text], tenant, name=text)
        if os.path.isdir(text):
            return Database(["--data", text], tenant, name=text)
        files = [text] if os.path.exists(text) else sorted(glob.glob(text))
        if not files:
            raise FileNotFoundError(
                f"there is no {text}: expected a file, a data directory or a server's URL"
            )
    else:
        files = [os.fspath(file) for file in source]
        if not files:
            raise ValueError("there is nothing to open: expected at least one file")
    return _load(files)


def _load(files: List[str]) -> Database:
    directory = tempfile.TemporaryDirectory(prefix="kymograph-")
    name = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    done = _run(["import", "--data", directory.name, "--format", "json", "--", *files])
    if done.returncode != 0:
        said = _said(done)
        directory.cleanup()
        raise QueryError(f"{name} cannot be read: {said}")
    return Database(["--data", directory.name], None, directory, name)


def _run(arguments: List[str], stdin: Optional[str] = None) -> "subprocess.CompletedProcess[bytes]":
    environment = dict(os.environ)
    # Whose data it is, is said in arguments, or it is the default's.
    environment.pop("KYMO_TENANT", None)
    return subprocess.run(
        [_binary(), *arguments],
        input=(stdin or "").encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )


def _binary() -> str:
    """The program ``kymo``."""
    named = os.environ.get("KYMO_BIN")
    found = shutil.which(named or "kymo")
    if found is None:
        where = f"KYMO_BIN is {named!r}, which is no program" if named else "it is not on PATH"
        raise FileNotFoundError(
            f"the program kymo is needed for this and was not found ({where}): install it, or set "
            "KYMO_BIN to where it is"
        )
    return found


def _said(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What it said on stderr, without what every message begins with."""
    text = done.stderr.decode(errors="replace").strip()
    text = text.split("\n\nFor more information")[0]
    if not text and done.returncode < 0:
        return f"kymo was ended by signal {-done.returncode}"
    text = text or f"kymo ended with {done.returncode} and said nothing"
    return text[len("error: ") :] if text.startswith("error: ") else text


def _times(since: Optional[str], start: Any, end: Any, step: Optional[str]) -> List[str]:
    flags = []
    for flag, value in (("since", since), ("start", start), ("end", end), ("step", step)):
        if value is not None:
            flags.append(f"--{flag}={_moment(value)}")
    return flags


def _moment(value: Any) -> str:
    """Seconds since 1970, text, or a ``datetime``."""
    if hasattr(value, "timestamp"):
        value = value.timestamp()
    return repr(value) if isinstance(value, float) else str(value)


#: Text in a query, which says nothing of its kind.
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`')
#: A stage that makes series of spans.
_SERIES = re.compile(r"\|\s*(?:rate|compare|\w+_over_time)\s*\(")


def _is_metrics(query: str) -> bool:
    """Whether a query gives series."""
    return _SERIES.search(_TEXT.sub("", query)) is not None
