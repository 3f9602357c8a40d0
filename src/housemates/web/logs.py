"""The server's log: repeated messages of one kind are counted instead of written, so that no client can fill it."""

from __future__ import annotations

import logging
import pkgutil
import threading
import time

from housemates import web

NAMES = ("uvicorn.error", "asyncio", "websockets.server")
"""Loggers of libraries; what clients make them log is one line, never a traceback."""
OWN = "housemates.web"
"""The package whose loggers report faults of the server itself; the first of a kind comes with its traceback."""
MOST = 3
"""Lines of one kind in `SECONDS`."""
SECONDS = 10.0
KINDS = 200
"""Kinds of lines that are remembered."""


class RepeatFilter(logging.Filter):
    """Lets the first lines of a kind through and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._known: dict[str, list[float]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; changes it to one line, and adds how many were left out before it."""
        kind, now = f"{record.name} {str(record.msg)[:60]} {_cause(record)}", time.monotonic()
        with self._lock:
            if len(self._known) > KINDS:
                self._known.clear()
            new = kind not in self._known
            since, said, left = self._known.setdefault(kind, [now, 0, 0])
            if now - since > SECONDS:
                since, said = now, 0
            written = said < MOST
            self._known[kind] = [since, said + written, 0 if written else left + 1]
        if written and not (new and record.name.startswith(OWN)):
            text, cause = " ".join(record.getMessage().split()), _cause(record)
            record.msg = text + (f" ({cause})" if cause else "") + (f" - and {left:.0f} more like this before" if left else "")
            record.args, record.exc_info, record.exc_text = (), None, None
        return written


REPEAT_FILTER = RepeatFilter()


def add_filters() -> None:
    """Filter everything that the server logs. Filters are not inherited, so every module's logger gets it."""
    modules = (module.name for module in pkgutil.iter_modules(web.__path__))
    for name in (*NAMES, *(f"{OWN}.{module}" for module in modules)):
        logging.getLogger(name).addFilter(REPEAT_FILTER)  # a filter that is there already is not added again


def _cause(record: logging.LogRecord) -> str:
    """The exception of a line in a few words."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return "" if error is None else f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
