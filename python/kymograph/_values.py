"""What callers give, as it is used: seconds to wait, what an error says."""

from __future__ import annotations

#: The longest wait: a year is for ever, and clocks have no room for much more.
LONGEST_SECONDS = 365.0 * 24 * 3600


def seconds(timeout: float) -> float:
    """A timeout in seconds. Raises ``ValueError`` for one that is none: check it before anything
    else is done. ``math.inf`` is as long as it takes."""
    if not timeout >= 0:  # as NaN is not, either
        raise ValueError(f"timeout is {timeout}: expected seconds, 0 or more")
    return float(min(timeout, LONGEST_SECONDS))


def text_of(error: BaseException) -> str:
    """What an exception says. Whatever that is, this raises nothing."""
    try:
        return str(error)
    except Exception:
        return "<unprintable>"
