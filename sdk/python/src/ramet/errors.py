"""Errors: what a node answers, and what functions say about themselves."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any


class RametError(Exception):
    """Base of all errors of this package."""

    retry_after: float = 0.0
    """For how long a node that has refused does not want to be asked again, in seconds, at most 30."""


class Unreachable(RametError):
    """No node answered: nobody knows whether what was asked for has been done."""


class JobFailed(RametError):
    """A job that was waited for has ended in error."""

    def __init__(self, key: str, reason: str, error: str) -> None:
        super().__init__(f"{key}: {error or reason or 'ended in error'}")
        self.key = key
        self.reason = reason
        self.error = error


class FlowFailed(JobFailed):
    """A flow that was waited for has ended in error."""


class ApiError(RametError):
    """A node has refused something, and says why (RFC 9457)."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or "refused")
        self.status: int = problem.get("status", 0)
        self.code: str = problem.get("code", "internal")
        self.request_id: str = problem.get("request_id", "")
        self.faults: list[dict[str, Any]] = problem.get("faults", [])


class NotFound(ApiError):
    """What was named does not exist."""


class Conflict(ApiError):
    """It is not in the state for that, or somebody else's by now."""


class Invalid(ApiError):
    """What was asked for is wrong; the text says what would be right."""


class Forbidden(ApiError):
    """The actor may not do that."""


class Unauthenticated(Forbidden):
    """The node does not believe who asks: no token, or one that is not good."""


class Unavailable(ApiError):
    """The node, or something that it needs, is not there now."""


class Exhausted(ApiError):
    """Too much at once: try again later."""


class Limit(ApiError):
    """It is larger than what a node takes."""


_KINDS: dict[str, type[ApiError]] = {
    "not_found": NotFound,
    "conflict": Conflict,
    "invalid": Invalid,
    "forbidden": Forbidden,
    "unauthenticated": Unauthenticated,
    "unavailable": Unavailable,
    "exhausted": Exhausted,
    "limit": Limit,
}

# What answers came without a problem document, from a proxy, say.
_STATUSES = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    413: "limit",
    422: "limit",
    429: "exhausted",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}


def of_problem(problem: Any, status: int = 0) -> ApiError:
    """Make the error that a problem document stands for."""
    if not isinstance(problem, dict) or "code" not in problem:
        problem = {"status": status, "code": _STATUSES.get(status, "internal"), "detail": f"HTTP status {status}"}
    return _KINDS.get(problem["code"], ApiError)(problem)


class Fail(RametError):
    """Raise it when the job has failed for good: it is not tried again, whatever retries it has left."""


class RetryAfter(RametError):
    """Raise it when the attempt has failed, and the next is to begin after at least that time, if retries are left."""

    def __init__(self, after: float | timedelta, message: str = "to be tried again later") -> None:
        super().__init__(message)
        self.after = after.total_seconds() if isinstance(after, timedelta) else after


class Cause(str, Enum):
    """Why a function was told to stop before its end."""

    CANCELLED = "the job was cancelled"
    TIMEOUT = "the job has had its time"
    LOST = "the lease was lost: another worker may have the job"
    STOPPING = "the worker is stopping"


class Stopped(BaseException):
    """Raised inside of a function without `async` that was told to stop.

    Functions with `async` get `asyncio.CancelledError`.
    """

    def __init__(self, cause: Cause = Cause.STOPPING) -> None:
        super().__init__(cause.value)
        self.cause = cause
