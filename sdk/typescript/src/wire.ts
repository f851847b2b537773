// The shapes of the wire. Made from the node's own by `go test ./test/sdk -update`: do not edit.

export const maxAssignments = 256;
export const maxWorkerTypes = 64;
export const maxWorkerWaitMs = 30000;
export const minWorkerLeaseMs = 5000;
export const maxWorkerLeaseMs = 600000;
export const defaultLeaseMs = 30000;
export const maxLogLines = 1000;
export const maxLineBytes = 16384;
export const maxResultBytes = 524288;
export const maxResultKeys = 1024;

export interface JobInput {
  depends?: number[];
  id: number;
  caller_id: number;
  context_id: number;
  script: string;
  script_type: string;
  timeout: number;
  retries: number;
  env_vars: Record<string, string>;
  result: Record<string, string>;
  prerequisites: string[];
  dependends: number[];
  created_at: number;
  updated_at: number;
  status: JobStatus;
  secrets?: Record<string, string>;
  retry?: Retry;
  priority?: number;
  not_before?: number;
  for_runner?: number;
  prerequisite_timeout?: number;
  trace_id?: string;
  affinity?: Record<string, string>;
  at?: string;
  artifacts?: string[];
  reason?: Reason;
  error?: string;
  exit_code?: number;
  attempt?: number;
  losses?: number;
  failures?: number;
  runner_id?: number;
  lease_owner?: string;
  cancel?: string;
  waits?: number;
  followers?: number;
  queued_ms?: number;
  started_ms?: number;
  finished_ms?: number;
  next_retry_ms?: number;
  parked?: string;
  remembered?: number;
  signals?: number;
  suspended?: Suspension;
  calls?: number;
  history?: HistoryEvent[];
  taken_by?: number;
  ended_by?: number;
  alive_until?: number;
  flow_id?: number;
  step?: string;
  called_by?: CalledBy;
  shard?: string;
  pack?: string;
  round?: number;
  item?: string;
  list?: number;
  origin?: string;
  message?: string;
  routine?: string;
  stepped?: boolean;
  flow_env?: boolean;
  env_fill?: boolean;
  params?: Record<string, string>;
  needs?: Record<string, Need>;
  hook?: HookInput;
}

export type JobStatus = "dispatched" | "waiting_for_prerequisites" | "started" | "error" | "finished" | (string & {});

export interface Retry {
  max?: number;
  delay?: number;
  factor?: number;
  max_delay?: number;
  jitter?: number;
  on?: RetryOn[];
  exit_codes?: number[];
  final_exit_codes?: number[];
}

export type RetryOn = "failed" | "errored" | (string & {});

export type Reason = "script_failed" | "timeout" | "runner_lost" | "cancelled" | "prerequisite_timeout" | "prerequisite_impossible" | "dependency_failed" | "flow_aborted" | "invalid" | "refused" | (string & {});

export interface Suspension {
  kind: string;
  name: string;
  n: number;
  until_ms?: number;
  signals?: string[];
  prerequisites?: string[];
  children?: string[];
  any_child?: boolean;
}

export interface HistoryEvent {
  kind: string;
  name?: string;
  n: number;
  at_ms: number;
  value?: unknown;
  failure?: StepFailure;
  until_ms?: number;
  signal?: string;
  timed_out?: boolean;
  ended?: boolean;
  prerequisite?: string;
  child?: string;
  open?: string[];
  cut?: boolean;
}

export interface StepFailure {
  kind?: string;
  text: string;
  code?: number;
}

export interface CalledBy {
  job: string;
  name: string;
  n: number;
  depth: number;
}

export interface Need {
  state: string;
  status?: JobStatus;
  reason?: Reason;
  job?: number;
  items?: number;
  list?: number;
  one?: boolean;
  results?: Record<string, string>[];
  artifacts?: boolean;
  left_by?: string;
  result?: Record<string, string>;
}

export interface HookInput {
  on: string;
  flow: number;
  name?: string;
  blueprint?: string;
  trigger?: string;
  schedule?: string;
  status: string;
  reason?: string;
  error?: string;
  text: string;
  started_ms?: number;
  finished_ms?: number;
  steps?: Record<string, HookStep>;
  result?: Record<string, string>;
}

export interface HookStep {
  state: string;
  text?: string;
}

export interface JobInputs {
  jobs: JobInput[];
}

export interface JobSubmitted {
  jobs: Submitted[];
  durability: string;
}

export interface Submitted {
  key?: string;
  existing?: boolean;
  error?: Problem;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  request_id?: string;
  faults?: Fault[];
}

export interface Fault {
  path: string;
  text: string;
  line?: number;
  column?: number;
}

export interface Job {
  id: number;
  caller_id: number;
  context_id: number;
  script: string;
  script_type: string;
  timeout: number;
  retries: number;
  env_vars: Record<string, string>;
  result: Record<string, string>;
  prerequisites: string[];
  dependends: number[];
  created_at: number;
  updated_at: number;
  status: JobStatus;
  secrets?: Record<string, string>;
  retry?: Retry;
  priority?: number;
  not_before?: number;
  for_runner?: number;
  prerequisite_timeout?: number;
  trace_id?: string;
  affinity?: Record<string, string>;
  at?: string;
  artifacts?: string[];
  reason?: Reason;
  error?: string;
  exit_code?: number;
  attempt?: number;
  losses?: number;
  failures?: number;
  runner_id?: number;
  lease_owner?: string;
  cancel?: string;
  waits?: number;
  followers?: number;
  queued_ms?: number;
  started_ms?: number;
  finished_ms?: number;
  next_retry_ms?: number;
  parked?: string;
  remembered?: number;
  signals?: number;
  suspended?: Suspension;
  calls?: number;
  history?: HistoryEvent[];
  taken_by?: number;
  ended_by?: number;
  alive_until?: number;
  flow_id?: number;
  step?: string;
  called_by?: CalledBy;
  shard?: string;
  pack?: string;
  round?: number;
  item?: string;
  list?: number;
  origin?: string;
  message?: string;
  routine?: string;
  stepped?: boolean;
  flow_env?: boolean;
  env_fill?: boolean;
  params?: Record<string, string>;
  needs?: Record<string, Need>;
  hook?: HookInput;
}

export interface JobPage {
  jobs: Job[];
  next?: string;
  looked: number;
  count?: Counted;
}

export interface Counted {
  matching: number;
  more?: boolean;
}

export interface LogPage {
  from: number;
  logs: Log[];
}

export interface Log {
  at_ms: number;
  stream: string;
  attempt?: number;
  line: string;
  job?: number;
  n?: number;
}

export interface JobExplanation {
  key: string;
  status: JobStatus;
  standing: string;
  outlook?: string;
  text: string;
  since_ms?: number;
  holder?: string;
  waits_for?: string[];
  next_ms?: number;
  ahead?: number;
  queue?: string;
  slots_taken?: number;
  slot_contexts?: number;
}

export interface WorkerAsk {
  types: string[];
  max?: number;
  wait_ms?: number;
  lease_ms?: number;
  labels?: Record<string, string>;
  slots?: number;
  running?: number;
  host?: string;
  version?: string;
}

export interface Assignments {
  jobs: Assignment[];
}

export interface Assignment {
  job: Job;
  attempt: number;
  lease_ms: number;
  timeout_ms: number;
  env?: Record<string, string>;
  traceparent?: string;
  input: Input;
}

export interface Input {
  params: Record<string, string>;
  needs: Record<string, Needed>;
  flow?: number;
  step?: string;
  shard?: ShardPart;
  pack?: PackRange;
  item?: unknown;
  index?: number;
  round?: number;
  hook?: HookInput;
}

export interface Needed {
  state?: string;
  status?: JobStatus;
  reason?: Reason;
  result: Record<string, string>;
  results?: Record<string, string>[];
}

export interface ShardPart {
  index: number;
  total: number;
}

export interface PackRange {
  id: number;
  start: number;
  end: number;
}

export interface ExtendParams {
  lease_ms?: number;
  wait_ms?: number;
  jobs: HeldAttempt[];
}

export interface HeldAttempt {
  caller: number;
  id: number;
  attempt: number;
  started_ms?: number;
}

export interface Extended {
  states: LeaseState[];
}

export type LeaseState = "renewed" | "cancelled" | "timeout" | "lost" | (string & {});

export interface FinishParams {
  jobs: AttemptEnd[];
}

export interface AttemptEnd {
  verdict: Verdict;
  result?: Record<string, string>;
  error?: string;
  final?: boolean;
  after_ms?: number;
  suspension?: Suspension;
  lines?: LogLine[];
  caller: number;
  id: number;
  attempt: number;
  started_ms?: number;
}

export type Verdict = "succeeded" | "failed" | "errored" | "timeout" | "stopped" | "lost" | "suspended" | (string & {});

export interface LogLine {
  stream?: string;
  line: string;
  n?: number;
}

export interface Finished {
  jobs: FinishedJob[];
}

export interface FinishedJob {
  problem?: Problem;
  status?: JobStatus;
  reason?: Reason;
  error?: string;
}

export interface WorkerLogParams {
  lines: LogLine[];
  caller: number;
  id: number;
  attempt: number;
  started_ms?: number;
}

export interface WorkerStep {
  request: unknown;
  asked?: number;
  before?: unknown[];
  caller: number;
  id: number;
  attempt: number;
  started_ms?: number;
}

export interface WorkerStepAnswer {
  unknown?: boolean;
  answer?: unknown;
  suspension?: Suspension;
}

export interface RegisterParams {
  types: string[];
}

export interface Bulk {
  id: number;
  operation: string;
  filter?: string;
  saga?: string;
  context_id: number;
  caller_id: number;
  status: BulkStatus;
  total: number;
  more?: boolean;
  done: number;
  failed: number;
  skipped: number;
  failures?: BulkFailure[];
  error?: string;
  began_ms?: number;
  ended_ms?: number;
}

export type BulkStatus = "counted" | "running" | "finished" | "cancelled" | "error" | (string & {});

export interface BulkFailure {
  key: string;
  error: string;
}

export interface SignalParams {
  name: string;
  payload?: unknown;
}

export interface FlowInput {
  blueprint?: string;
  version?: number;
  plan?: Record<string, unknown>;
  text?: string;
  file?: string;
  jobs?: JobInput[];
  trigger?: string;
  params?: Record<string, string>;
  env_vars?: Record<string, string>;
  priority?: number;
  after?: number;
  on_error?: string;
  skip?: string[];
  no_cache?: boolean;
  steps?: Record<string, StepChange>;
}

export interface StepChange {
  params?: Record<string, string>;
  after?: number;
  retries?: number;
  timeout?: number;
  may_fail?: boolean;
  window?: number;
  count?: number;
  size?: number;
  start?: number;
  end?: number;
  endless?: boolean;
}

export interface FlowSubmitted {
  flows: SubmittedFlow[];
  durability: string;
}

export interface SubmittedFlow {
  id?: number;
  key?: string;
  existing?: boolean;
  archived?: boolean;
  error?: Problem;
}

export interface FlowView {
  steps: StepView[];
  steps_from?: number;
  steps_total?: number;
  slow?: boolean;
  added?: Record<string, string>;
  hooks?: HookView[];
  id: number;
  caller_id: number;
  context_id: number;
  jobs: number[];
  env_vars: Record<string, string>;
  result: Record<string, string>;
  created_at: number;
  updated_at: number;
  status: string;
  reason?: string;
  error?: string;
  blueprint?: string;
  version?: number;
  hash?: string;
  trigger?: string;
  on_error?: string;
  hook_jobs?: Record<string, string>;
  priority?: number;
  params?: Record<string, string>;
  paused?: boolean;
  cancel?: string;
  schedule?: string;
  backfill?: boolean;
  parent?: FlowParent;
  called_by?: CalledBy;
  message?: string;
  sender?: number;
  trace_id?: string;
  started_ms?: number;
  finished_ms?: number;
  after_ms?: number;
  duration?: number;
  retention?: number;
  stepped?: boolean;
  progress?: string;
  awaits?: string;
  retried?: number;
  rerun_of?: number;
  rerun_by?: number;
}

export interface StepView {
  name: string;
  summary?: string;
  kind: string;
  status: string;
  text?: string;
  needs?: string[];
  phase?: number;
  job?: string;
  flow?: string;
  total?: number;
  done?: number;
  open?: number;
  bad?: number;
  round?: number;
  rounds?: number;
  round_ms?: number;
  ranges?: string;
  watermark?: number;
  endless?: boolean;
  progress: number;
  since_ms?: number;
  end_ms?: number;
  units?: UnitView[];
  approval?: ApprovalView;
  cached?: CachedFrom;
}

export interface UnitView {
  id: number;
  start: number;
  end: number;
  job: string;
  flow?: string;
  key?: string;
  outcome?: string;
  text?: string;
}

export interface ApprovalView {
  due_ms?: number;
  on_deadline?: string;
  approvers?: string[];
  not_submitter?: boolean;
  answers?: TypedField[];
  result?: Record<string, string>;
}

export interface TypedField {
  name: string;
  type?: string;
  description?: string;
  default?: string;
  required?: boolean;
  enum?: string[];
  pattern?: string;
  min?: string;
  max?: string;
}

export interface CachedFrom {
  flow: number;
  job: string;
  at_ms: number;
}

export interface HookView {
  on: string;
  job: string;
  status?: JobStatus;
  reason?: Reason;
  error?: string;
}

export interface FlowParent {
  flow: number;
  step: string;
  index?: number;
  key?: string;
  depth: number;
  list: number;
  one?: boolean;
}

export interface FlowDone {
  key: string;
  done: boolean;
}

export interface FlowExplanation {
  key: string;
  status: string;
  standing: string;
  outlook?: string;
  text: string;
  since_ms?: number;
  holder?: string;
  waits_for?: string[];
  next_ms?: number;
}

export interface JobFilter {
  status?: JobStatus | undefined;
  type?: string | undefined;
  caller?: number | undefined;
  flow?: number | undefined;
  phase?: string | undefined;
  where?: string | undefined;
  from_ms?: number | undefined;
  to_ms?: number | undefined;
  text?: string | undefined;
}

export interface JobQuery extends JobFilter {
  sort?: string | undefined;
  limit?: number | undefined;
}
