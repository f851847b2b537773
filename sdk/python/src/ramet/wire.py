"""What goes over the wire. Made from the node's own types: do not edit."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

MAX_ASSIGNMENTS: Final = 256
MAX_WORKER_TYPES: Final = 64
MAX_WORKER_WAIT_MS: Final = 30000
MIN_WORKER_LEASE_MS: Final = 5000
MAX_WORKER_LEASE_MS: Final = 600000
DEFAULT_LEASE_MS: Final = 30000
MAX_LOG_LINES: Final = 1000
MAX_LINE_BYTES: Final = 16384
MAX_RESULT_BYTES: Final = 524288
MAX_RESULT_KEYS: Final = 1024
MAX_BODY: Final = 8388608

JobStatus = Literal["dispatched", "waiting_for_prerequisites", "started", "error", "finished"]
LeaseState = Literal["renewed", "cancelled", "timeout", "lost"]
Verdict = Literal["succeeded", "failed", "errored", "timeout", "stopped", "lost", "suspended"]
BulkStatus = Literal["counted", "running", "finished", "cancelled", "error"]


class Retry(TypedDict, total=False):
    max: int
    delay: int
    factor: float
    max_delay: int
    jitter: float
    on: list[str]
    exit_codes: list[int]
    final_exit_codes: list[int]


class _Suspension(TypedDict):
    kind: str
    name: str
    n: int


class Suspension(_Suspension, total=False):
    until_ms: int
    signals: list[str]
    prerequisites: list[str]
    children: list[str]
    any_child: bool


class _StepFailure(TypedDict):
    text: str


class StepFailure(_StepFailure, total=False):
    kind: str
    code: int


class _HistoryEvent(TypedDict):
    kind: str
    n: int
    at_ms: int


class HistoryEvent(_HistoryEvent, total=False):
    name: str
    value: Any
    failure: StepFailure
    until_ms: int
    signal: str
    timed_out: bool
    ended: bool
    prerequisite: str
    child: str
    open: list[str]
    cut: bool


class CalledBy(TypedDict):
    job: str
    name: str
    n: int
    depth: int


class _Need(TypedDict):
    state: str


class Need(_Need, total=False):
    status: JobStatus
    reason: str
    job: int
    items: int
    list: int
    one: bool
    results: list[dict[str, str]]
    artifacts: bool
    left_by: str
    result: dict[str, str]


class _HookStep(TypedDict):
    state: str


class HookStep(_HookStep, total=False):
    text: str


class _HookInput(TypedDict):
    on: str
    flow: int
    status: str
    text: str


class HookInput(_HookInput, total=False):
    name: str
    blueprint: str
    trigger: str
    schedule: str
    reason: str
    error: str
    started_ms: int
    finished_ms: int
    steps: dict[str, HookStep]
    result: dict[str, str]


class _Job(TypedDict):
    id: int
    caller_id: int
    context_id: int
    script: str
    script_type: str
    timeout: int
    retries: int
    env_vars: dict[str, str]
    result: dict[str, str]
    prerequisites: list[str]
    dependends: list[int]
    created_at: int
    updated_at: int
    status: JobStatus


class Job(_Job, total=False):
    secrets: dict[str, str]
    retry: Retry
    priority: int
    not_before: int
    for_runner: int
    prerequisite_timeout: int
    trace_id: str
    affinity: dict[str, str]
    at: str
    artifacts: list[str]
    reason: str
    error: str
    exit_code: int
    attempt: int
    losses: int
    failures: int
    runner_id: int
    lease_owner: str
    cancel: str
    waits: int
    followers: int
    queued_ms: int
    started_ms: int
    finished_ms: int
    next_retry_ms: int
    parked: str
    remembered: int
    signals: int
    suspended: Suspension
    calls: int
    history: list[HistoryEvent]
    taken_by: int
    ended_by: int
    alive_until: int
    flow_id: int
    step: str
    called_by: CalledBy
    shard: str
    pack: str
    round: int
    item: str
    list: int
    origin: str
    message: str
    routine: str
    stepped: bool
    flow_env: bool
    env_fill: bool
    params: dict[str, str]
    needs: dict[str, Need]
    hook: HookInput


class _Needed(TypedDict):
    result: dict[str, str]


class Needed(_Needed, total=False):
    state: str
    status: JobStatus
    reason: str
    results: list[dict[str, str]]


class ShardPart(TypedDict):
    index: int
    total: int


class PackRange(TypedDict):
    id: int
    start: int
    end: int


class _Input(TypedDict):
    params: dict[str, str]
    needs: dict[str, Needed]


class Input(_Input, total=False):
    flow: int
    step: str
    shard: ShardPart
    pack: PackRange
    item: Any
    index: int
    round: int
    hook: HookInput


class _Assignment(TypedDict):
    job: Job
    attempt: int
    lease_ms: int
    timeout_ms: int
    input: Input


class Assignment(_Assignment, total=False):
    env: dict[str, str]
    traceparent: str


class _WorkerAsk(TypedDict):
    types: list[str]


class WorkerAsk(_WorkerAsk, total=False):
    max: int
    wait_ms: int
    lease_ms: int
    labels: dict[str, str]
    slots: int
    running: int
    host: str
    version: str


class _HeldAttempt(TypedDict):
    caller: int
    id: int
    attempt: int


class HeldAttempt(_HeldAttempt, total=False):
    started_ms: int


class _LogLine(TypedDict):
    line: str


class LogLine(_LogLine, total=False):
    stream: str
    n: int


class _AttemptEnd(TypedDict):
    caller: int
    id: int
    attempt: int
    verdict: Verdict


class AttemptEnd(_AttemptEnd, total=False):
    started_ms: int
    result: dict[str, str]
    error: str
    final: bool
    after_ms: int
    suspension: Suspension
    lines: list[LogLine]


class _Log(TypedDict):
    at_ms: int
    stream: str
    line: str


class Log(_Log, total=False):
    attempt: int
    job: int
    n: int


class JobInput(TypedDict, total=False):
    id: int
    caller_id: int
    context_id: int
    script: str
    script_type: str
    timeout: int
    retries: int
    env_vars: dict[str, str]
    result: dict[str, str]
    prerequisites: list[str]
    dependends: list[int]
    created_at: int
    updated_at: int
    status: JobStatus
    secrets: dict[str, str]
    retry: Retry
    priority: int
    not_before: int
    for_runner: int
    prerequisite_timeout: int
    trace_id: str
    affinity: dict[str, str]
    at: str
    artifacts: list[str]
    reason: str
    error: str
    exit_code: int
    attempt: int
    losses: int
    failures: int
    runner_id: int
    lease_owner: str
    cancel: str
    waits: int
    followers: int
    queued_ms: int
    started_ms: int
    finished_ms: int
    next_retry_ms: int
    parked: str
    remembered: int
    signals: int
    suspended: Suspension
    calls: int
    history: list[HistoryEvent]
    taken_by: int
    ended_by: int
    alive_until: int
    flow_id: int
    step: str
    called_by: CalledBy
    shard: str
    pack: str
    round: int
    item: str
    list: int
    origin: str
    message: str
    routine: str
    stepped: bool
    flow_env: bool
    env_fill: bool
    params: dict[str, str]
    needs: dict[str, Need]
    hook: HookInput
    depends: list[int]


class _Fault(TypedDict):
    path: str
    text: str


class Fault(_Fault, total=False):
    line: int
    column: int


class _Problem(TypedDict):
    title: str
    status: int
    detail: str
    code: str


class Problem(_Problem, total=False):
    type: str
    request_id: str
    faults: list[Fault]


class Submitted(TypedDict, total=False):
    key: str
    existing: bool
    error: Problem


class JobSubmitted(TypedDict):
    jobs: list[Submitted]
    durability: str


class _Counted(TypedDict):
    matching: int


class Counted(_Counted, total=False):
    more: bool


class _JobPage(TypedDict):
    jobs: list[Job]
    looked: int


class JobPage(_JobPage, total=False):
    next: str
    count: Counted


LogPage = TypedDict("LogPage", {"from": int, "logs": list[Log]})


class Assignments(TypedDict):
    jobs: list[Assignment]


class Extended(TypedDict):
    states: list[LeaseState]


class FinishedJob(TypedDict, total=False):
    status: JobStatus
    reason: str
    error: str
    problem: Problem


class Finished(TypedDict):
    jobs: list[FinishedJob]


class WorkerStepAnswer(TypedDict, total=False):
    unknown: bool
    answer: Any
    suspension: Suspension


class _JobExplanation(TypedDict):
    key: str
    status: JobStatus
    standing: str
    text: str


class JobExplanation(_JobExplanation, total=False):
    outlook: str
    since_ms: int
    holder: str
    waits_for: list[str]
    next_ms: int
    ahead: int
    queue: str
    slots_taken: int
    slot_contexts: int


class BulkFailure(TypedDict):
    key: str
    error: str


class _Bulk(TypedDict):
    id: int
    operation: str
    context_id: int
    caller_id: int
    status: BulkStatus
    total: int
    done: int
    failed: int
    skipped: int


class Bulk(_Bulk, total=False):
    filter: str
    saga: str
    more: bool
    failures: list[BulkFailure]
    error: str
    began_ms: int
    ended_ms: int


class StepChange(TypedDict, total=False):
    params: dict[str, str]
    after: int
    retries: int
    timeout: int
    may_fail: bool
    window: int
    count: int
    size: int
    start: int
    end: int
    endless: bool


class FlowInput(TypedDict, total=False):
    blueprint: str
    version: int
    plan: dict[str, Any]
    text: str
    file: str
    jobs: list[JobInput]
    trigger: str
    params: dict[str, str]
    env_vars: dict[str, str]
    priority: int
    after: int
    on_error: str
    skip: list[str]
    no_cache: bool
    steps: dict[str, StepChange]


class SubmittedFlow(TypedDict, total=False):
    id: int
    key: str
    existing: bool
    archived: bool
    error: Problem


class FlowSubmitted(TypedDict):
    flows: list[SubmittedFlow]
    durability: str


class _FlowParent(TypedDict):
    flow: int
    step: str
    depth: int
    list: int


class FlowParent(_FlowParent, total=False):
    index: int
    key: str
    one: bool


class _UnitView(TypedDict):
    id: int
    start: int
    end: int
    job: str


class UnitView(_UnitView, total=False):
    flow: str
    key: str
    outcome: str
    text: str


class _TypedField(TypedDict):
    name: str


class TypedField(_TypedField, total=False):
    type: str
    description: str
    default: str
    required: bool
    enum: list[str]
    pattern: str
    min: str
    max: str


class ApprovalView(TypedDict, total=False):
    due_ms: int
    on_deadline: str
    approvers: list[str]
    not_submitter: bool
    answers: list[TypedField]
    result: dict[str, str]


class CachedFrom(TypedDict):
    flow: int
    job: str
    at_ms: int


class _StepView(TypedDict):
    name: str
    kind: str
    status: str
    progress: float


class StepView(_StepView, total=False):
    summary: str
    text: str
    needs: list[str]
    phase: int
    job: str
    flow: str
    total: int
    done: int
    open: int
    bad: int
    round: int
    rounds: int
    round_ms: int
    ranges: str
    watermark: int
    endless: bool
    since_ms: int
    end_ms: int
    units: list[UnitView]
    approval: ApprovalView
    cached: CachedFrom


class _HookView(TypedDict):
    on: str
    job: str


class HookView(_HookView, total=False):
    status: JobStatus
    reason: str
    error: str


class _FlowView(TypedDict):
    id: int
    caller_id: int
    context_id: int
    jobs: list[int]
    env_vars: dict[str, str]
    result: dict[str, str]
    created_at: int
    updated_at: int
    status: str
    steps: list[StepView]


class FlowView(_FlowView, total=False):
    reason: str
    error: str
    blueprint: str
    version: int
    hash: str
    trigger: str
    on_error: str
    hook_jobs: dict[str, str]
    priority: int
    params: dict[str, str]
    paused: bool
    cancel: str
    schedule: str
    backfill: bool
    parent: FlowParent
    called_by: CalledBy
    message: str
    sender: int
    trace_id: str
    started_ms: int
    finished_ms: int
    after_ms: int
    duration: int
    retention: int
    stepped: bool
    progress: str
    awaits: str
    retried: int
    rerun_of: int
    rerun_by: int
    steps_from: int
    steps_total: int
    slow: bool
    added: dict[str, str]
    hooks: list[HookView]


class FlowDone(TypedDict):
    key: str
    done: bool


class _FlowExplanation(TypedDict):
    key: str
    status: str
    standing: str
    text: str


class FlowExplanation(_FlowExplanation, total=False):
    outlook: str
    since_ms: int
    holder: str
    waits_for: list[str]
    next_ms: int


class JobFilter(TypedDict, total=False):
    status: JobStatus
    type: str
    caller: int
    flow: int
    phase: str
    where: str
    from_ms: int
    to_ms: int
    text: str


class JobQuery(JobFilter, total=False):
    sort: str
    limit: int
