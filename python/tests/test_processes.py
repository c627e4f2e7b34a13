"""Ends of processes: forks, kills, interpreters that end with work queued."""

import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import events_of, lines, run_python, spans_of

import kymograph

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_an_interpreter_that_ends_writes_what_is_queued(tmp_path):
    done = run_python(
        """
        import kymograph
        s = kymograph.session("a", poll_interval=None, flush_interval=60.0)
        for _ in range(20_000):
            s.create_task("t").completed()
        print(s.path)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    path = os.path.join(tmp_path, done.stdout.strip())
    names = [event["eventName"] for event in events_of(path)]
    assert names.count("TaskCompleted") == 20_000
    assert names[-1] == "SessionEnded"


@pytest.mark.parametrize("ending", ["pass", "sys.exit(3)", "raise ValueError('x')"])
def test_an_interpreter_ends_in_time_although_subscribers_are_slow(tmp_path, ending):
    started = time.monotonic()
    done = run_python(
        f"""
        import sys, time, kymograph
        s = kymograph.session("a", poll_interval=0.1)
        s.subscribe(lambda event: time.sleep(0.05))
        for _ in range(10_000):
            s.emit("a.B")
        {ending}
        """,
        tmp_path,
    )
    assert done.returncode == {"pass": 0, "sys.exit(3)": 3}.get(ending, 1), done.stderr
    assert time.monotonic() - started < 20


def test_a_subscriber_that_never_returns_does_not_hold_the_interpreter(tmp_path):
    started = time.monotonic()
    done = run_python(
        """
        import time, kymograph
        s = kymograph.session("a", poll_interval=None)
        s.subscribe(lambda event: time.sleep(3600))
        s.emit("a.B")
        time.sleep(0.2)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert time.monotonic() - started < 20
    (path,) = glob.glob(str(tmp_path / "*.kymo.jsonl"))
    assert [event["eventName"] for event in events_of(path)][-1] == "SessionEnded"


def test_threads_that_still_tell_at_the_end_do_no_harm(tmp_path):
    done = run_python(
        """
        import threading, kymograph
        s = kymograph.session("a", poll_interval=0.1)
        s.subscribe(lambda event: None)
        def tell():
            while True:
                with s.run("t"):
                    pass
        for _ in range(4):
            threading.Thread(target=tell, daemon=True).start()
        import time
        time.sleep(0.3)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_a_killed_process_loses_at_most_the_flush_bound(tmp_path):
    program = """
import time, kymograph
s = kymograph.session("a", poll_interval=None, flush_interval=0.1)
n = 0
while True:
    s.emit("a.B", n=n)
    print(n, time.time(), flush=True)
    n += 1
    time.sleep(0.001)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    told = {}
    for line in process.stdout:
        number, moment = line.split()
        told[int(number)] = float(moment)
        if len(told) == 1500:
            break
    killed = time.time()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines()
    process.wait()
    for line in rest:
        if len(line.split()) == 2:
            told[int(line.split()[0])] = float(line.split()[1])
    (path,) = glob.glob(str(tmp_path / "*.kymo.jsonl"))
    assert lines(path)[0]["kymo"] == "checkpoint"
    kept = {event["attributes"].get("n") for event in events_of(path)}
    # Some slack for a machine that is busy: a sync may take a while.
    old = {number for number, moment in told.items() if moment < killed - 0.1 - 0.5}
    assert old and old <= kept


def test_a_forked_child_is_inert_and_may_start_its_own(tmp_path, make_session):
    session = make_session(poll_interval=0.1)
    seen = []
    session.subscribe(seen.append)
    task = session.create_task("parent", id="parent")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            task.started()
            session.create_task("child", id="child").completed()
            with session.span("child-span"):
                session.emit("child.Event")
            assert session.is_ended
            assert session.summary()["resources"] == {} and session.spans() == []
            assert not session.flush(0.1) and not session.close(0.1)
            session.subscribe(seen.append)
            own = kymograph.session("own", directory=tmp_path, poll_interval=None)
            assert own.trace_id != session.trace_id
            own.create_task("own-task", id="own").completed()
            assert own.close()
            os.write(write, own.path.encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    own = os.read(read, 4096).decode()
    task.completed()
    session.close()
    mine = {event["attributes"].get("task_id") for event in events_of(session.path)}
    assert mine >= {"parent"} and "child" not in mine
    names = [event["eventName"] for event in events_of(session.path)]
    assert "child.Event" not in names and names.count("SessionEnded") == 1
    assert "own-task" in {span["name"] for span in spans_of(own)}


def _in_child(session, connection):
    with session.run("in-child"):
        connection.send(session.is_ended)
    connection.close()


def test_a_forked_process_of_multiprocessing_ends(session):
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_in_child, args=(session, theirs))
    process.start()
    assert ours.recv() is True
    process.join(20)
    assert process.exitcode == 0
    session.close()
    assert "in-child" not in {span["name"] for span in spans_of(session.path)}


def test_a_fork_while_threads_tell_never_hangs(make_session):
    import threading

    session = make_session(poll_interval=0.1)
    is_over = threading.Event()

    def tell():
        while not is_over.is_set():
            session.create_task("a").completed()

    threads = [threading.Thread(target=tell) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                session.create_task("child").completed()
                session.task_count()
                os._exit(0)
            until = time.monotonic() + 20
            while True:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    assert status == 0
                    break
                if time.monotonic() > until:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    pytest.fail("the child hangs")
                time.sleep(0.001)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_functions_in_a_pool_of_threads_are_tasks(session):
    from concurrent.futures import ThreadPoolExecutor

    @session.task
    def square(n):
        return n * n

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(square, range(1000))) == [n * n for n in range(1000)]
    assert session.task_count()["completed"] == 1000


def test_it_works_without_opentelemetry(tmp_path):
    done = run_python(
        """
        import sys
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("opentelemetry", "pyarrow", "yaml"):
                    raise ImportError(name)
        sys.meta_path.insert(0, Refuse())
        import kymograph
        with kymograph.session("a", poll_interval=None) as s:
            with s.span("outer") as span:
                carrier = kymograph.inject()
                assert carrier == {"traceparent": span.traceparent}, carrier
                with s.run("t"):
                    pass
            with kymograph.share(run=1):
                pass
        with kymograph.extract(carrier) as extracted:
            assert extracted.traceparent == span.traceparent
            with kymograph.session("b", poll_interval=None) as below:
                assert below.trace_id == s.trace_id
        assert len(s.spans()) == 3
        assert not kymograph.configure(service_name="x").is_enabled
        for call in (
            lambda: kymograph.counter("x"),
            lambda: kymograph.configure(service_name="x", enabled=True),
            lambda: s.spans().to_arrow(),
        ):
            try:
                call()
            except ImportError as error:
                assert "pip install 'kymograph[" in str(error), error
            else:
                raise AssertionError("no error")
        assert "opentelemetry" not in sys.modules
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
