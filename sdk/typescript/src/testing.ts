/** Runs functions in tests, without a node. */
import type { JobFunction } from "./app.js";
import { Job } from "./job.js";
import { JobLog } from "./log.js";
import { perform, type Outcome } from "./perform.js";
import type { Input, Job as JobRecord, Log } from "./wire.js";

export interface Around {
  /** Which run of the job it is. Default: 1. */
  attempt?: number;
  env?: Record<string, string>;
  input?: Partial<Input>;
  /** Fields of the job as the node has it. */
  record?: Partial<JobRecord>;
  /** Tells the function to stop; its reason may be a JobStopped. */
  signal?: AbortSignal;
}

/** What came of a function. */
export interface Ran extends Outcome {
  /** What it logged. */
  log: Pick<Log, "stream" | "line">[];
}

/**
 * Calls a function with arguments as a job would carry them (as JSON), and says what a node would be told: whatever the
 * function throws is in `error` and `thrown`.
 */
export async function run<Args>(f: JobFunction<Args>, args: Args, around: Around = {}): Promise<Ran> {
  const controller = new AbortController();
  if (around.signal?.aborted) controller.abort(around.signal.reason);
  around.signal?.addEventListener("abort", () => controller.abort(around.signal?.reason), { once: true });
  const record: JobRecord = {
    id: 1, caller_id: 1, context_id: 1, script: JSON.stringify(args ?? {}), script_type: f.name, timeout: 0, retries: 0, env_vars: {}, result: {},
    prerequisites: [], dependends: [], created_at: 0, updated_at: 0, status: "started", ...around.record,
  };
  const input = { params: {}, needs: {}, ...around.input };
  const log = new JobLog();
  const assignment = { job: record, attempt: around.attempt ?? 1, lease_ms: 30_000, timeout_ms: 3_600_000, env: around.env ?? {}, input };
  const job = new Job(assignment, controller, log);
  const outcome = await perform(f.handler, job);
  const lines = await log.close();
  return { ...outcome, log: lines.map(({ stream = "stdout", line }) => ({ stream, line })) };
}
