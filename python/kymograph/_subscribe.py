"""Events for those who want to know.

The core puts events into a channel; one thread of a session takes them out, all that are there at a
time, and hands them to every subscriber. So neither the program nor the session's own thread waits
for a subscriber: one that is too slow misses events, which is counted.

Plain callbacks are called on that thread. Coroutine functions, and streams, belong to an event
loop: events are put aside for it, so many and no more, and the loop is woken once for each batch.
A callback that raises is counted and called again; the first time it is logged.
"""

from __future__ import annotations

import asyncio
import collections
import logging
import threading
import time
from typing import Any, AsyncIterator, Callable, Deque, List, Optional

from ._core import Channel, Event

#: Events that wait for a loop. A loop that is blocked for longer loses what does not fit; a program
#: must not run out of memory because it listens to itself.
PENDING_EVENTS = 100_000
#: Events of one batch: so many that the GIL is asked for seldom, and not so many that a thread that
#: is about to end has to finish them.
BATCH_EVENTS = 4096
#: How long the thread waits for events before it looks whether it is still wanted.
WAIT_SECONDS = 0.5

_log = logging.getLogger("kymograph")


class Delivery:
    """A plain callback."""

    def __init__(self, callback: Callable[[Any], Any], batch: bool) -> None:
        self._callback = callback
        self._is_batch = batch
        self.is_canceled = False
        self.errors = 0
        self.missed = 0

    def deliver(self, events: List[Event]) -> None:
        """Takes a batch; on the subscribers' thread."""
        callback = self._callback
        for argument in [events] if self._is_batch else events:
            if self.is_canceled:
                return
            try:
                callback(argument)
            except BaseException:
                # Also sys.exit(), which ends a thread and not the program: others are served by
                # this one.
                self._failed(callback)

    def _failed(self, callback: Callable[[Any], Any]) -> None:
        """Inside an ``except``."""
        self.errors += 1
        if self.errors == 1:
            _log.warning(
                "a subscriber of a session raised: %r; it is called again, but this is said once",
                callback,
                exc_info=True,
            )

    def close(self) -> None:
        """Nothing more comes."""


class LoopDelivery(Delivery):
    """Events for an event loop: put aside on the subscribers' thread, used on the loop's."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, callback: Callable[[Any], Any], batch: bool
    ) -> None:
        super().__init__(callback, batch)
        self._loop = loop
        self._pending: Deque[Event] = collections.deque()
        self._has_come = asyncio.Event()
        self._has_ended = False
        self._task: Optional[asyncio.Task[None]] = None

    def start(self) -> None:
        """Begins to call the callback; on the loop."""
        self._task = self._loop.create_task(self._run(), name="kymograph-subscriber")

    def deliver(self, events: List[Event]) -> None:
        room = max(PENDING_EVENTS - len(self._pending), 0)
        self.missed += max(len(events) - room, 0)
        self._pending.extend(events[:room])
        self._wake()

    def close(self) -> None:
        self._has_ended = True
        self._wake()

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._has_come.set)
        except RuntimeError:
            # The loop is closed: nobody is left to be told.
            self._pending.clear()

    async def wait(self) -> bool:
        """Waits for events; false when there will be none."""
        while not self._pending:
            if self._has_ended:
                return False
            self._has_come.clear()
            # Something may have come before it was cleared.
            if not self._pending and not self._has_ended:
                await self._has_come.wait()
        return True

    def next(self) -> Event:
        """One of those that :meth:`wait` found."""
        return self._pending.popleft()

    async def drained(self) -> None:
        """Waits until everything that was delivered is used; after :meth:`close`."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        callback = self._callback
        while await self.wait():
            if self.is_canceled:
                return
            if self._is_batch:
                argument: Any = [self.next() for _ in range(len(self._pending))]
            else:
                argument = self.next()
            try:
                await callback(argument)
            except Exception:
                self._failed(callback)


class Subscribers:
    """All subscribers of a session, and the thread that serves them."""

    def __init__(self, open_channel: Callable[[], Optional[Channel]]) -> None:
        self._open_channel = open_channel
        self._lock = threading.Lock()
        self._deliveries: List[Delivery] = []
        self._thread: Optional[threading.Thread] = None
        self._has_ended = False
        #: Of those that are gone.
        self._errors = 0
        self._missed = 0

    def add(self, delivery: Delivery) -> None:
        """Hands it all events from now on."""
        with self._lock:
            if self._has_ended:
                delivery.close()
            elif self._thread is None:
                channel = self._open_channel()
                if channel is None:
                    delivery.close()
                    return
                # A daemon: the interpreter does not wait for a callback that hangs.
                self._thread = threading.Thread(
                    target=self._run, args=(channel,), name="kymograph-subscribers", daemon=True
                )
                self._deliveries.append(delivery)
                self._thread.start()
            elif self._thread.is_alive():
                self._deliveries.append(delivery)
            else:
                delivery.close()

    def remove(self, delivery: Delivery) -> None:
        """No more events for it."""
        delivery.is_canceled = True
        with self._lock:
            if delivery in self._deliveries:
                self._deliveries.remove(delivery)
                self._errors += delivery.errors
                self._missed += delivery.missed
        delivery.close()

    def _run(self, channel: Channel) -> None:
        try:
            while True:
                events = channel.take(BATCH_EVENTS, WAIT_SECONDS)
                # A channel that was opened while the session ended may not have been closed by it.
                if events is None or (not events and self._has_ended):
                    break
                if events:
                    for delivery in self._known():
                        delivery.deliver(events)
        finally:
            for delivery in self._known():
                delivery.close()

    def _known(self) -> List[Delivery]:
        with self._lock:
            return list(self._deliveries)

    def finish(self, timeout: float) -> bool:
        """After the session's end: waits until all have everything. False if that takes longer;
        then they get nothing more."""
        with self._lock:
            self._has_ended = True
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        if not thread.is_alive():
            return True
        for delivery in self._known():
            delivery.is_canceled = True
        return False

    async def drained(self, timeout: float) -> None:
        """Waits until coroutines have used everything."""
        until = time.monotonic() + timeout
        for delivery in self._known():
            if isinstance(delivery, LoopDelivery):
                waiting = asyncio.ensure_future(delivery.drained())
                await asyncio.wait([waiting], timeout=max(until - time.monotonic(), 0.0))

    def errors(self) -> int:
        """How often callbacks raised."""
        return self._errors + sum(delivery.errors for delivery in self._known())

    def missed(self) -> int:
        """Events that loops were too slow for."""
        return self._missed + sum(delivery.missed for delivery in self._known())


class Subscription:
    """What :meth:`Session.subscribe` gives: a way to end it, and what became of it."""

    def __init__(self, subscribers: Subscribers, delivery: Delivery) -> None:
        self._subscribers = subscribers
        self._delivery = delivery

    def cancel(self) -> None:
        """No more events from now on."""
        self._subscribers.remove(self._delivery)

    @property
    def errors(self) -> int:
        """How often the callback raised."""
        return self._delivery.errors

    @property
    def missed(self) -> int:
        """Events that a loop was too slow for."""
        return self._delivery.missed


class Stream:
    """``async for event in session.stream()``: events as they come, until the session ends."""

    def __init__(self, subscribers: Subscribers, delivery: LoopDelivery) -> None:
        self._subscribers = subscribers
        self._delivery = delivery

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if not await self._delivery.wait():
            self.close()
            raise StopAsyncIteration
        return self._delivery.next()

    def close(self) -> None:
        """Ends it before the session does."""
        self._subscribers.remove(self._delivery)

    async def aclose(self) -> None:
        """The same, for ``contextlib.aclosing``."""
        self.close()

    @property
    def missed(self) -> int:
        """Events that the loop was too slow for."""
        return self._delivery.missed
