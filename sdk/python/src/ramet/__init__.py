"""Your own Python functions as jobs of a Ramet node.

app = ramet.App(url="http://127.0.0.1:7480#nina", context=7, key_file="alice.key")

@app.job("mail", retries=3, timeout=60)
def mail(to: str) -> None: ...

mail.submit(to="x").wait()   # in one program
app.run()                    # in another: the worker
"""

from .app import App
from .calls import JobKey, Tagged
from .client import AsyncClient, Client
from .durable import (
    Call,
    ChannelError,
    Decision,
    Step,
    StepFailed,
    Steps,
    Suspended,
    TimedOut,
    approval,
    call,
    gather,
    now,
    random,
    sleep,
    step,
    uuid,
    version,
    wait,
)
from .errors import (
    ApiError,
    Cause,
    Conflict,
    Exhausted,
    Fail,
    FlowFailed,
    Forbidden,
    Invalid,
    JobFailed,
    Limit,
    NotFound,
    RametError,
    RetryAfter,
    Stopped,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from .flow import AsyncFlowHandle, FlowHandle
from .function import AsyncHandle, Function, Handle, Options
from .job import Job, JobLogHandler, current_job
from .place import Place
from .steps import AsyncSteps
from .worker import Worker, WorkerConfig

__version__ = "0.1.0"

__all__ = [
    "ApiError",
    "App",
    "AsyncClient",
    "AsyncFlowHandle",
    "AsyncHandle",
    "AsyncSteps",
    "Call",
    "Cause",
    "ChannelError",
    "Client",
    "Conflict",
    "Decision",
    "Exhausted",
    "Fail",
    "FlowFailed",
    "FlowHandle",
    "Forbidden",
    "Function",
    "Handle",
    "Invalid",
    "Job",
    "JobFailed",
    "JobKey",
    "JobLogHandler",
    "Limit",
    "NotFound",
    "Options",
    "Place",
    "RametError",
    "RetryAfter",
    "Step",
    "StepFailed",
    "Steps",
    "Stopped",
    "Suspended",
    "Tagged",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "Worker",
    "WorkerConfig",
    "approval",
    "call",
    "current_job",
    "gather",
    "now",
    "random",
    "sleep",
    "step",
    "uuid",
    "version",
    "wait",
]
