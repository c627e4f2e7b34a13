"""What a session knows, as objects and tables."""

import pytest

import kymograph


@pytest.fixture
def known(session):
    session.create_task("a", backend="b", executable="x", attributes={"n": 1, "m": "t"}).completed()
    with session.run("b", backend="b", executable="x", attributes={"n": 2.5, "m": 3}):
        pass
    session.resource_update("node", cpu_percent=12.0)
    session.resource_update("node", gpu_id=0, gpu_percent=50.0)
    return session


def test_spans_are_plain_objects(known):
    spans = known.spans()
    assert [span.name for span in spans] == ["a", "b"]
    assert isinstance(spans, list) and isinstance(spans[0], kymograph.Span)
    assert spans[1].to_dict()["attributes"]["n"] == 2.5
    assert spans.to_dicts()[0]["duration_seconds"] == spans[0].duration_seconds
    assert spans[1].start_time <= spans[1].end_time


def test_spans_are_an_arrow_table(known):
    pyarrow = pytest.importorskip("pyarrow")
    table = known.spans().to_arrow()
    assert table.column("name").to_pylist() == ["a", "b"]
    assert table.schema.field("start_time").type == pyarrow.timestamp("ns", "UTC")
    assert table.column("span.n").to_pylist() == [1.0, 2.5]
    assert table.column("span.m").to_pylist() == ["t", "3"]
    assert table.column("span.executable").to_pylist() == ["x", "x"]


def test_metrics_are_points_with_labels(known):
    points = [point for point in known.metrics() if point.name == "tasks_completed"]
    assert sum(point.value for point in points) == 2
    assert points[0].kind == "counter" and points[0].labels["backend"] == "b"
    (duration,) = [p for p in known.metrics() if p.name == "task_duration_seconds"]
    assert duration.kind == "histogram" and duration.count >= 1
    assert len(duration.bucket_counts) == len(duration.bucket_bounds) + 1
    assert sum(duration.bucket_counts) == duration.count
    pytest.importorskip("pyarrow")
    table = known.metrics().to_arrow()
    assert "label.backend" in table.column_names


def test_resources_are_a_frame_of_pandas(known):
    pytest.importorskip("pandas")
    frame = known.resources().to_pandas()
    assert set(frame["node_id"]) == {"node"}
    assert frame["cpu_percent"].max() == 12.0
    assert frame["gpu_percent"].max() == 50.0


def test_spans_are_a_frame_of_polars(known):
    polars = pytest.importorskip("polars")
    frame = known.spans().to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.shape[0] == 2 and frame["name"].to_list() == ["a", "b"]


def test_nothing_is_a_table_too(session):
    pytest.importorskip("pyarrow")
    assert session.spans().to_arrow().num_rows == 0
    assert "name" in session.spans().to_arrow().column_names


def test_only_so_many_spans_are_kept(make_session):
    session = make_session(keep_spans=10)
    for _ in range(100):
        session.create_task("a").completed()
    assert len(session.spans()) == 10
    assert session.stats()["spans_forgotten"] == 90
