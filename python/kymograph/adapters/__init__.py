"""Adapters: tasks of other libraries, in a session.

| module | what it follows |
|---|---|
| `futures` | executors of `concurrent.futures`, threads and processes |
| `asyncio` | tasks of event loops |
| `multiprocessing` | pools and processes |
| `dask` | tasks and workers of Dask's `distributed` |
| `ray` | tasks and actors of Ray |
| `dragon` | nodes of DragonHPC, by its telemetry's messages |
| `rhapsody` | whole RHAPSODY sessions: a drop-in for the telemetry of `rhapsody-py` |

Each is imported by itself, and needs its library only then. What they have in common: a task's
start and end are measured where it runs; the span of the task is current inside it, also in other
processes (as OpenTelemetry's context, and as `TRACEPARENT` for what it starts); what a task raises
fails it and goes on to whoever waits.
"""
