"""What a session may be told: events with fields, attributes and text of any kind, nodes."""

import time

import pytest
from conftest import Unprintable, UnprintableError, events_of

import kymograph


def test_declared_events_have_defaults_and_types(session):
    Score = kymograph.define_event("myapp.Score", score=float, label=(str, "unknown"), n=int)
    session.emit(Score(score=1))
    session.emit(Score(label="x"), task_id="t-9")
    session.emit("myapp.Other", node_id="n", time=12.5, emit_time=13.5, colour="red")
    session.close()
    score, second, other = [event for event in events_of(session.path) if "." in event["eventName"]]
    assert score["eventName"] == "myapp.Score"
    assert score["attributes"] == {"score": 1.0, "label": "unknown", "n": 0}
    assert score["spanId"] == session.span_id
    assert second["attributes"]["task_id"] == "t-9" and second["attributes"]["label"] == "x"
    assert other["attributes"] == {"node_id": "n", "colour": "red"}
    assert other["timeUnixNano"] == "12500000000"
    assert other["observedTimeUnixNano"] == "13500000000"

    with pytest.raises(TypeError, match="has no field 'scor'"):
        Score(scor=1)
    with pytest.raises(TypeError, match="is a float"):
        Score(score="high")
    with pytest.raises(ValueError, match="namespace"):
        kymograph.define_event("Score", score=float)
    with pytest.raises(ValueError, match="task_id"):
        kymograph.define_event("myapp.Score", task_id=str)
    with pytest.raises(ValueError, match="namespace"):
        session.emit("Anything")


def test_whatever_text_is_told_is_taken(session):
    task = session.create_task(
        "\udcff", id="i\udcff", backend="b\udcff", node_id="n", attributes={"k": Unprintable()}
    )
    task.annotate("\udcff", {"\udcff": "\udcff"})
    task.started("n\udcff")
    task.failed(UnprintableError(), None)
    session.create_task("b").failed("Broken", "message \udcff")
    session.create_task("c").failed(Unprintable())
    with session.span("\udcff", {"k": [Unprintable(), 1]}) as span:
        span.set_attribute("\udcff", Unprintable())
    session.annotate("\udcff")
    session.emit("a.B", task_id="\udcff", node_id="\udcff", key="\udcff")
    first, *_ = session.spans()
    assert first.attributes["k"] == "<unprintable>"
    assert first.attributes["error_type"] == "UnprintableError"
    assert first.name and first.name == "\ufffd" * len(first.name)
    assert session.task_count()["failed"] == 3
    with pytest.raises(ValueError):
        session.emit("no name")


def test_attributes_keep_their_types(session):
    class Odd:
        def __str__(self):
            return "odd"

    given = {
        "text": "ü",
        "yes": True,
        "whole": -3,
        "part": 0.5,
        "nothing": None,
        "huge": 2**70,
        "list": [1, 2],
        "mixed": [1, 2.5],
        "words": ("a", "b"),
        "odd": Odd(),
        7: "key",
    }
    session.create_task("a", attributes=given).completed()
    (span,) = session.spans()
    known = {
        key: value
        for key, value in span.attributes.items()
        if key not in ("task_id", "status", "incomplete_lifecycle")
    }
    assert known == {
        "text": "ü",
        "yes": True,
        "whole": -3,
        "part": 0.5,
        "huge": str(2**70),
        "list": [1, 2],
        "mixed": [1.0, 2.5],
        "words": ["a", "b"],
        "odd": "odd",
        "7": "key",
    }
    assert type(known["yes"]) is bool and type(known["whole"]) is int


def test_numbers_of_numpy_are_numbers(session):
    numpy = pytest.importorskip("numpy")
    given = {"a": numpy.float32(0.5), "b": numpy.int64(7), "c": numpy.float64(1.5)}
    session.create_task("a", attributes=given).completed()
    attributes = session.spans()[0].attributes
    assert (attributes["a"], attributes["b"], attributes["c"]) == (0.5, 7, 1.5)


def test_switches_of_numpy_are_switches(session):
    numpy = pytest.importorskip("numpy")
    found = {"yes": numpy.True_, "both": [numpy.True_, False], "one": numpy.float32(0.5)}
    session.create_task("a", attributes=found).completed()
    (span,) = session.spans()
    assert span.attributes["yes"] is True
    assert span.attributes["both"] == [True, False]
    assert span.attributes["one"] == 0.5


def test_lists_in_lists_are_text(session):
    itself = [1]
    itself.append(itself)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    found = {"itself": itself, "deep": deep, "pairs": [(1, 2), [3]], "none": [None, 1]}
    session.create_task("a", attributes=found).completed()
    (span,) = session.spans()
    assert span.attributes["itself"] == ["1", "[1, [...]]"]
    assert span.attributes["pairs"] == ["(1, 2)", "[3]"]
    assert span.attributes["none"] == [1]
    assert len(span.attributes["deep"]) == 1
    # Taking it apart one by one, since that recurses, too.
    while deep:
        deep = deep.pop()


def test_attributes_may_change_while_they_are_read(session):
    found = {}

    class Changing:
        def __str__(self):
            found["more"] = 1
            return "text"

    found.update({"a": Changing(), "b": Changing()})
    session.create_task("a", attributes=found).completed()
    assert session.spans()[0].attributes["a"] == "text"


def test_nodes_and_gpus_are_kept_apart(session):
    session.resource_update(
        "n1", backend="b", cpu_percent=50.0, memory_percent=10.0, gpu_percent=90
    )
    session.resource_update("n1", backend="b", gpu_id=0, gpu_percent=90.0)
    session.resource_update("n1", backend="b", gpu_id=1, gpu_percent=5.0)
    summary = session.summary()
    assert summary["resources"]["b/n1"]["cpu_percent"] == 50.0
    assert summary["resources"]["b/n1"]["disk_read_bytes"] is None
    by_gpu = {resource.gpu_id: resource.values for resource in session.resources()}
    assert by_gpu[None]["cpu_percent"] == 50.0
    assert by_gpu[1]["gpu_percent"] == 5.0


def test_nodes_without_a_backend_are_called_by_their_name(session):
    session.resource_update("n1", cpu_percent=1.0)
    session.resource_update("n1", backend="dask", cpu_percent=2.0)
    assert set(session.summary()["resources"]) == {"n1", "dask/n1"}


def test_the_node_is_looked_at(make_session):
    session = make_session(poll_interval=0.1)
    until = time.monotonic() + 20
    while not session.resources() and time.monotonic() < until:
        time.sleep(0.02)
    (node,) = [resource for resource in session.resources() if resource.gpu_id is None]
    assert node.values["memory_total_bytes"] > 0
