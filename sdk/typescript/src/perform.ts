import { Fail, JobStopped, RetryAfter, lineOf } from "./errors.js";
import type { Job } from "./job.js";
import { maxResultBytes, maxResultKeys, type Suspension, type Verdict } from "./wire.js";

/** Runs a job; what it returns becomes the job's result. */
export type Handler = (job: Job) => unknown;

/** Wraps what runs jobs, for traces, metrics or transactions: it calls `next` to go on. */
export type Middleware = (job: Job, next: () => Promise<unknown>) => unknown;

/** Where an error is cut, in characters; a node keeps fewer. */
const errorRoom = 8 << 10;

/** How a function ended. */
export interface Outcome {
  verdict: Verdict;
  /** What the job's record gets. */
  result?: Record<string, string>;
  /** One line for people. */
  error?: string;
  /** Set when another attempt would end the same. */
  final?: boolean;
  /** The least time before the next attempt, in milliseconds. */
  after_ms?: number;
  /** What the job waits for. */
  suspension?: Suspension;
  /** What the function threw. */
  thrown?: unknown;
}

/** Runs a job's function and says how it ended. */
export async function perform(handler: Handler, job: Job): Promise<Outcome> {
  try {
    const value = await handler(job);
    if (job.suspension) return suspended(job);
    const result = resultOf(value);
    return result ? { verdict: "succeeded", result } : { verdict: "succeeded" };
  } catch (thrown) {
    return failureOf(thrown, job);
  }
}

function failureOf(thrown: unknown, job: Job): Outcome {
  const error = lineOf(thrown).slice(0, errorRoom).toWellFormed();
  const why: unknown = job.signal.reason;
  if (why instanceof JobStopped) return { verdict: why.why === "timeout" ? "timeout" : "stopped", error, thrown };
  if (job.suspension) return suspended(job);
  if (thrown instanceof Fail) return { verdict: "failed", error, thrown, final: true };
  if (thrown instanceof RetryAfter) return { verdict: "failed", error, thrown, after_ms: Math.max(0, Math.round(thrown.seconds * 1000)) };
  job.error(thrown instanceof Error && thrown.stack ? thrown.stack : error);
  return { verdict: "failed", error, thrown };
}

/** The end of a function that was told so: whatever came of it, it is called again when the job goes on. */
const suspended = (job: Job): Outcome => ({ verdict: "suspended", suspension: job.suspension! });

/** A job's arguments: its script, as JSON. */
export function argsOf(job: Job): unknown {
  const script = job.record.script.trim();
  try {
    return script === "" ? undefined : JSON.parse(script);
  } catch (err) {
    throw new Fail(`the arguments of the job cannot be read as JSON: ${lineOf(err)}`, { cause: err });
  }
}

/**
 * A value as a job's result: an object's fields, texts as they are and anything else as JSON; what is no object stands
 * under "value".
 */
export function resultOf(value: unknown): Record<string, string> | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch (err) {
    throw new Fail(`the result cannot be written as JSON: ${lineOf(err)}`, { cause: err });
  }
  if (text === undefined || text === "null") return undefined;
  const parsed: unknown = JSON.parse(text);
  const fields: object = typeof parsed === "object" && !Array.isArray(parsed) ? parsed! : { value: parsed };
  const result: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) {
    const bare = typeof field === "string" ? field.toWellFormed() : JSON.stringify(field);
    Object.defineProperty(result, name, { value: bare, enumerable: true }); // "__proto__" is a name as any other
  }
  const bytes = Buffer.byteLength(JSON.stringify(result));
  const keys = Object.keys(result).length;
  if (bytes > maxResultBytes) {
    throw new Fail(`the result has ${bytes} bytes as JSON, the limit is ${maxResultBytes}: store it elsewhere, and return where`);
  }
  if (keys > maxResultKeys) throw new Fail(`the result has ${keys} fields, the limit is ${maxResultKeys}`);
  return result;
}
