"""Why Ray could not finish a piece of work, in one sentence that says what to do."""

from __future__ import annotations

from typing import Any

GOES_ON = "what was finished is kept, the same command goes on"

LOSSES = (
    (
        ("OutOfMemoryError",),
        "the node that had {what} ran out of memory; have it do less at once (start it with a smaller --num-cpus, or "
        "take a smaller batch) or use one with more",
    ),
    (
        ("WorkerCrashedError",),
        "the worker process that had {what} died {times} times; either its node ran out of memory or the work itself "
        "ends its process, so try it with the local engine",
    ),
    (
        ("NodeDiedError", "LocalRayletDiedError", "ActorDiedError"),
        "the node that had {what} died or was cut off; look at it with `ray status`",
    ),
    (
        ("ObjectStoreFullError", "OutOfDiskError"),
        "the node that had {what} has no room left in its object store or on its disk; free some, or start Ray with a "
        "larger --object-store-memory",
    ),
    (
        ("ObjectLostError",),
        "what {what} needs was lost with a node of the cluster; look at it with `ray status`",
    ),
    (
        ("RaySystemError",),
        "a Ray worker could not take over {what} ({reason}); what a model needs must be installed on every node",
    ),
)
"""Errors of Ray with their sentences; the first that fits counts."""


def lost_work(ray: Any, error: Exception, what: str, times: int) -> RuntimeError:
    """The sentence for an error of Ray while `what` was done, after it was tried so many times."""
    reason = (str(error).strip().splitlines() or [""])[-1]
    for names, sentence in LOSSES:
        if isinstance(error, tuple(getattr(ray.exceptions, name) for name in names)):
            return RuntimeError(f"{sentence.format(what=what, times=times, reason=reason)}; {GOES_ON}")
    return RuntimeError(f"Ray could not finish {what} ({type(error).__name__}: {reason}); {GOES_ON}")
