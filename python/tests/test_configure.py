"""Services: what OpenTelemetry's SDK sends after kymograph.configure()."""

import logging
import socket
import subprocess
import time

import pytest
from conftest import run_python
from kymo_program import Server, needs_kymo

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc")

from otlp_sink import Sink, plain  # noqa: E402

import kymograph  # noqa: E402


@pytest.fixture
def sink():
    sink = Sink()
    yield sink
    sink.close()


def run(program, tmp_path, **environment):
    done = run_python(program, tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    return done


SERVICE = """
import logging, sys, time, kymograph
from opentelemetry import trace
handler = logging.StreamHandler(sys.stderr)
logging.getLogger().addHandler(handler)
service = kymograph.configure(service_name="trainer", enabled=True, ARGUMENTS)
assert service.is_enabled
assert handler in logging.getLogger().handlers
with kymograph.share(session_id="s-17", run_id=3):
    with trace.get_tracer("app").start_as_current_span("work"):
        logging.getLogger("app").warning("hello %s", "world", extra={"k": 1})
        kymograph.counter("app.requests").add(2, {"model": "small"})
        kymograph.histogram("app.duration", "s").record(0.03)
        try:
            1 / 0
        except ZeroDivisionError:
            logging.getLogger("app").exception("it failed")
time.sleep(0.05)  # the kernel counts hundredths of a second: a share of less is not known
kymograph.shutdown()
"""


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_traces_metrics_and_logs_arrive_once(sink, tmp_path, protocol):
    url = sink.grpc_url if protocol == "grpc" else sink.http_url
    arguments = (
        f"otlp_endpoint={url!r}, protocol={protocol!r}, prefix='app', headers={{'X-Key': 'v'}}"
    )
    done = run(SERVICE.replace("ARGUMENTS", arguments), tmp_path)
    assert "hello world" in done.stderr
    ((span, resource),) = sink.spans()
    assert span.name == "work" and resource["service.name"] == "trainer"
    assert plain(span.attributes) == {"session_id": "s-17", "run_id": "3"}
    hello, failed = sink.records()
    assert hello.body.string_value == "hello world" and hello.severity_number == 13
    assert hello.trace_id == span.trace_id and hello.span_id == span.span_id
    attributes = plain(hello.attributes)
    assert attributes["session_id"] == "s-17" and attributes["k"] == 1
    assert plain(failed.attributes)["exception.type"] == "ZeroDivisionError"
    metrics = sink.metrics()
    (point,) = metrics["app.requests"].sum.data_points
    assert point.as_int == 2 and plain(point.attributes) == {"model": "small"}
    (exemplar,) = point.exemplars
    assert exemplar.trace_id == span.trace_id
    assert plain(exemplar.filtered_attributes) == {"session_id": "s-17", "run_id": "3"}
    (histogram,) = metrics["app.duration"].histogram.data_points
    assert 0.05 in list(histogram.explicit_bounds) and max(histogram.explicit_bounds) == 3600
    names = {name for name in metrics if ".resource." in name}
    assert names >= {
        "app.resource.cpu.utilization_percent",
        "app.resource.memory.used_bytes",
        "app.resource.memory.total_bytes",
        "app.resource.memory.utilization_percent",
        "app.resource.process.memory_used_bytes",
    }
    keys = [{name.lower(): value for name, value in header.items()} for header in sink.headers]
    assert keys and all(header.get("x-key") == "v" for header in keys)


@needs_kymo
@pytest.mark.parametrize("gzip", [False, True])
def test_json_is_understood_by_a_server(tmp_path, gzip):
    pytest.importorskip("opentelemetry.exporter.otlp.json.http")
    with Server(tmp_path / "data") as server:
        arguments = f"otlp_endpoint={server.http_url!r}, protocol='http/json', prefix='app'"
        compression = {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"} if gzip else {}
        run(SERVICE.replace("ARGUMENTS", arguments), tmp_path, **compression)
        db = kymograph.open(server.url)
        (span,) = db.sql("SELECT trace_id, span_id, name FROM spans").to_pylist()
        records = db.sql("SELECT body, trace_id, span_id FROM logs ORDER BY time").to_pylist()
        points = db.sql("SELECT name FROM points").to_pylist()
    assert span["name"] == "work"
    assert [record["body"] for record in records] == ["hello world", "it failed"]
    # Ids are hexadecimal in OTLP's JSON, where protobuf's own has base64.
    for record in records:
        assert (record["trace_id"], record["span_id"]) == (span["trace_id"], span["span_id"])
    assert {"app.requests", "app.duration"} <= {point["name"] for point in points}


def test_an_exporter_that_is_missing_is_named_with_the_choices(tmp_path):
    program = """
    import sys, kymograph
    sys.modules["opentelemetry.exporter.otlp.json"] = None
    kymograph.configure(enabled=True, otlp_endpoint="http://localhost:1", protocol="http/json")
    """
    done = run_python(program, tmp_path)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ImportError: the exporter for http/json is missing")
    assert "kymograph[otel-json]" in said and "http/protobuf or grpc" in said


def test_logs_arrive_once_also_beside_the_instrumentation(sink, tmp_path):
    pytest.importorskip("opentelemetry.instrumentation.logging")
    program = SERVICE.replace("ARGUMENTS", f"otlp_endpoint={sink.grpc_url!r}").replace(
        "with kymograph.share",
        "from opentelemetry.instrumentation.logging import LoggingInstrumentor\n"
        "LoggingInstrumentor().instrument(set_logging_format=True)\n"
        "with kymograph.share",
    )
    run(program, tmp_path)
    bodies = [record.body.string_value for record in sink.records()]
    assert bodies == ["hello world", "it failed"]


CONFIGURED = """
import kymograph
from opentelemetry import trace
service = kymograph.configure(ARGUMENTS)
print(service.is_enabled)
with trace.get_tracer("app").start_as_current_span("work"):
    pass
kymograph.shutdown()
"""


def test_it_is_off_unless_it_is_switched_on(sink, tmp_path):
    for arguments, environment in (
        (f"service_name='a', otlp_endpoint={sink.grpc_url!r}", {}),
        ("enabled=True, service_name='a'", {"OTEL_SDK_DISABLED": "true"}),
        ("enabled=False, config='on.yaml'", {"KYMO_OTEL_DEBUG": "1"}),
    ):
        (tmp_path / "on.yaml").write_text("enabled: true\n")
        done = run(CONFIGURED.replace("ARGUMENTS", arguments), tmp_path, **environment)
        assert done.stdout.strip() == "False"
    assert sink.spans() == []


def test_what_is_explicit_wins_then_the_file_then_the_environment(tmp_path):
    sinks = [Sink() for _ in range(4)]
    explicit, file, ours, theirs = sinks
    try:
        (tmp_path / "telemetry.yaml").write_text(
            "telemetry:\n  enabled: true\n  service_name: of-file\n"
            f"  otlp_endpoint: {file.grpc_url}\n"
            "  resource_attributes: {team: blue}\nother: 1\n"
        )
        (tmp_path / "bare.yaml").write_text("enabled: true\n")
        environment = {
            "KYMO_OTLP_ENDPOINT": ours.grpc_url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": theirs.grpc_url,
            "OTEL_SERVICE_NAME": "of-environment",
        }
        given = (
            f"service_name='given', otlp_endpoint={explicit.grpc_url!r}, config='telemetry.yaml'"
        )
        run(CONFIGURED.replace("ARGUMENTS", given), tmp_path, **environment)
        run(CONFIGURED.replace("ARGUMENTS", "config='telemetry.yaml'"), tmp_path, **environment)
        run(CONFIGURED.replace("ARGUMENTS", "config='bare.yaml'"), tmp_path, **environment)
        del environment["KYMO_OTLP_ENDPOINT"]
        run(CONFIGURED.replace("ARGUMENTS", "enabled=True"), tmp_path, **environment)
        resources = [[resource for _, resource in sink.spans()] for sink in sinks]
        names = [[resource["service.name"] for resource in one] for one in resources]
        assert names == [["given"], ["of-file"], ["of-environment"], ["of-environment"]]
        assert resources[1][0]["team"] == "blue"
    finally:
        for sink in sinks:
            sink.close()


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_password_of_an_endpoint_is_sent_and_not_shown(sink, tmp_path, protocol):
    url = sink.grpc_url if protocol == "grpc" else sink.http_url
    url = url.replace("://", "://me:hunter2@")
    arguments = f"otlp_endpoint={url!r}, protocol={protocol!r}"
    done = run(SERVICE.replace("ARGUMENTS", arguments), tmp_path)
    assert "hunter2" not in done.stdout + done.stderr
    keys = [{name.lower(): value for name, value in header.items()} for header in sink.headers]
    # `me:hunter2`.
    assert keys and all(key["authorization"] == "Basic bWU6aHVudGVyMg==" for key in keys)


def test_debugging_writes_to_the_console_although_there_is_an_endpoint(sink, tmp_path):
    arguments = f"enabled=True, otlp_endpoint={sink.grpc_url!r}"
    done = run(CONFIGURED.replace("ARGUMENTS", arguments), tmp_path, KYMO_OTEL_DEBUG="1")
    assert '"name": "work"' in done.stdout
    assert sink.spans() == []


def test_what_cannot_be_understood_is_refused(tmp_path):
    (tmp_path / "wrong.yaml").write_text("telemetry: {enbled: true}\n")
    with pytest.raises(ValueError, match="enbled"):
        kymograph.configure(config=tmp_path / "wrong.yaml")
    with pytest.raises(FileNotFoundError, match="nowhere.yaml"):
        kymograph.configure(config=tmp_path / "nowhere.yaml")
    with pytest.raises(ValueError, match="protocol"):
        kymograph.configure(enabled=True, otlp_endpoint="http://localhost:1", protocol="smoke")


def test_a_second_call_warns_and_changes_nothing(sink, tmp_path):
    done = run(
        CONFIGURED.replace("ARGUMENTS", f"enabled=True, otlp_endpoint={sink.grpc_url!r}").replace(
            "print(", "assert kymograph.configure(enabled=False) is service\nprint("
        ),
        tmp_path,
    )
    assert done.stdout.strip() == "True"
    assert "was called before" in done.stderr
    assert len(sink.spans()) == 1


def test_a_server_that_is_away_holds_nobody_up(tmp_path):
    program = CONFIGURED.replace(
        "ARGUMENTS", "enabled=True, otlp_endpoint='http://127.0.0.1:9', traces=False, logs=False"
    )
    try:
        run_python(program, tmp_path, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail("the program waits for a server")


def test_an_instrument_is_known_by_its_name():
    first = kymograph.counter("test.things", "1", "Things")
    assert kymograph.counter("test.things") is first
    assert kymograph.counter("TEST.things") is first
    with pytest.raises(ValueError, match="is a counter already"):
        kymograph.histogram("test.things")
    kymograph.updown("test.level").add(-1)
    kymograph.gauge("test.gauge").set(0.5)


def test_contexts_are_carried_there_and_back(session):
    from opentelemetry import baggage, trace

    with kymograph.share(**{"run.id": 7}), session.span("outer") as span:
        carrier = kymograph.inject()
    assert carrier["traceparent"] == span.traceparent
    assert carrier["baggage"] == "run.id=7"
    shouted = {name.upper(): value for name, value in carrier.items()}
    with kymograph.extract(shouted):
        assert baggage.get_baggage("run.id") == "7"
        ids = trace.get_current_span().get_span_context()
        assert f"{ids.span_id:016x}" == span.span_id
        session.create_task("below").completed()
    below = [one for one in session.spans() if one.name == "below"][0]
    assert below.parent_span_id == span.span_id
    for traceparent in ("", "00", "00-zz-00f067aa0ba902b7-01", "garbage"):
        with kymograph.extract({"traceparent": traceparent}):
            assert not trace.get_current_span().get_span_context().is_valid


def test_too_many_share_keys_are_left_out(caplog):
    from opentelemetry import baggage

    with caplog.at_level(logging.WARNING, logger="kymograph"):
        with kymograph.share(**{f"k{n}": n for n in range(40)}):
            assert len(baggage.get_all()) == 32
        with kymograph.share(long="x" * 2000, short=None):
            assert not baggage.get_all()
    assert any("not shared" in record.getMessage() for record in caplog.records)


def test_a_server_that_does_not_answer_holds_the_end_up_no_longer_than_asked(tmp_path):
    program = """
    import socket, time, kymograph
    from opentelemetry import trace
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen()  # and never accepts
    url = f"http://127.0.0.1:{silent.getsockname()[1]}"
    kymograph.configure("a", True, url, protocol="http/protobuf")
    with trace.get_tracer("app").start_as_current_span("work"):
        pass
    began = time.monotonic()
    assert not kymograph.shutdown(timeout=0.5)
    assert time.monotonic() - began < 3
    assert kymograph.shutdown()
    print(time.time())
    """
    done = run(program, tmp_path)
    # The SDK tries for ten seconds, but not here.
    assert time.time() - float(done.stdout) < 5
    assert "only be called once" not in done.stderr


def test_a_timeout_that_is_none_is_refused_and_telemetry_goes_on(sink, tmp_path):
    program = CONFIGURED.replace("ARGUMENTS", f"'a', True, {sink.grpc_url!r}").replace(
        "print(service.is_enabled)",
        "for wrong in (-1, float('nan'), float('-inf')):\n"
        "    for wait in (kymograph.shutdown, service.flush):\n"
        "        try:\n"
        "            wait(wrong)\n"
        "        except ValueError as error:\n"
        "            assert 'expected seconds' in str(error), error\n"
        "        else:\n"
        "            raise AssertionError(wrong)\n"
        "    assert service.is_enabled",
    )
    program = program.replace(
        "kymograph.shutdown()", "assert service.flush(1e19) and kymograph.shutdown(float('inf'))"
    )
    run(program, tmp_path)
    assert len(sink.spans()) == 1


def test_the_resource_says_where_it_runs(sink, tmp_path):
    program = CONFIGURED.replace(
        "ARGUMENTS", f"'a', True, {sink.grpc_url!r}, {{'service.name': 'b'}}"
    )
    done = run("import os; print(os.getpid())" + program, tmp_path)
    ((_, resource),) = sink.spans()
    assert resource["host.name"] == socket.gethostname()
    assert resource["process.pid"] == int(done.stdout.split()[0])
    assert resource["service.name"] == "b"
    run(program, tmp_path, OTEL_RESOURCE_ATTRIBUTES="host.name=elsewhere")
    assert sink.spans()[-1][1]["host.name"] == "elsewhere"


def test_bytes_have_the_unit_of_bytes():
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from kymograph._resources import observe

    reader = InMemoryMetricReader()
    observe(MeterProvider([reader]), "a")
    (of_resource,) = reader.get_metrics_data().resource_metrics
    units = {one.name: one.unit for one in of_resource.scope_metrics[0].metrics}
    assert units["a.resource.memory.used_bytes"] == "By"
    assert units["a.resource.process.memory_used_bytes"] == "By"
    assert units["a.resource.memory.utilization_percent"] == "%"
