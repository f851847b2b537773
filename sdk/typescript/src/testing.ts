/**
 * Runs functions in tests, without a node. A function that remembers, sleeps or waits is called again from its top, at once,
 * at the time when that is over.
 */
import type { JobFunction } from "./app.js";
import type { Request } from "./durable.js";
import { Job } from "./job.js";
import { JobLog } from "./log.js";
import { Memory as Asked } from "./memory.js";
import { perform, type Outcome } from "./perform.js";
import { Attempt, Memory } from "./testmemory.js";
import type { Input, Job as JobRecord, Log } from "./wire.js";

export { Memory, type MemoryOptions, type TestCall } from "./testmemory.js";

export interface Around {
  /** Which run of the job it is. Default: 1, or the next of the memory. */
  attempt?: number;
  /** What the job remembers, and what comes to it. Default: nothing does. */
  memory?: Memory;
  env?: Record<string, string>;
  input?: Partial<Input>;
  /** Fields of the job as the node has it. */
  record?: Partial<JobRecord>;
  /** Tells the function to stop; its reason may be a JobStopped. */
  signal?: AbortSignal;
}

/** What came of a function. Its verdict is "suspended" where it waits for what does not come; `suspension` says what that is. */
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
  const memory = around.memory ?? new Memory();
  const lines: Ran["log"] = [];
  for (let attempt = around.attempt ?? memory.attempts + 1; ; attempt++) {
    memory.attempts++;
    const calling = new Attempt(memory);
    const log = new JobLog();
    const assignment = { job: record, attempt, lease_ms: 30_000, timeout_ms: 3_600_000, env: around.env ?? {}, input };
    const asked = new Asked(({ request }) => calling.ask(request as Request), controller.signal);
    const job = new Job(assignment, controller, log, asked);
    const outcome = await perform(f.handler, job);
    lines.push(...(await log.close()).map(({ stream = "stdout", line }) => ({ stream, line })));
    if (outcome.verdict !== "suspended" || calling.until === undefined) return { ...outcome, log: lines };
    memory.skip(calling.until);
  }
}
