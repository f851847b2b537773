import type { Fault, Problem } from "./wire.js";

/** The kinds of error, as the node names them. */
export type Code =
  | "not_found"
  | "conflict"
  | "invalid"
  | "forbidden"
  | "unauthenticated"
  | "unavailable"
  | "exhausted"
  | "limit"
  | "internal";

/** An error that a node answered with, or that no node answered. `code` says of which kind it is. */
export class RametError extends Error {
  override readonly name: string = "RametError";
  readonly code: Code;
  /** All that is wrong with a document, such as a blueprint. */
  readonly faults: readonly Fault[];
  /** By which the node's log knows the request. */
  readonly requestId: string | undefined;
  /** For how long a node that has refused does not want to be asked again, in seconds, at most 30. */
  retryAfter = 0;

  constructor(code: Code, message: string, options: { faults?: Fault[] | undefined; requestId?: string | undefined; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.faults = options.faults ?? [];
    this.requestId = options.requestId;
  }

  /** The error that a problem of the wire stands for. */
  static of(p: Problem): RametError {
    return new RametError(p.code as Code, p.detail, { faults: p.faults, requestId: p.request_id });
  }
}

/** Some of many jobs were refused: each place has the handle of its job, or the error. */
export class PartlyRefused<H> extends RametError {
  override readonly name = "PartlyRefused";
  readonly outcomes: readonly (H | RametError)[];

  constructor(outcomes: (H | RametError)[]) {
    const errors = outcomes.filter((o) => o instanceof RametError);
    super(errors[0]?.code ?? "internal", `${errors.length} of ${outcomes.length} jobs were refused; the first: ${errors[0]?.message}`);
    this.outcomes = outcomes;
  }
}

/** Thrown by a function: the job has failed for good. Another attempt would end the same, so there is none. */
export class Fail extends Error {
  override readonly name = "Fail";
}

/** Thrown by a function: the attempt has failed, and the next, if retries are left, begins after at least so many seconds. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly seconds: number;

  constructor(seconds: number, message?: string, options?: ErrorOptions) {
    super(message ?? `to be tried again after ${seconds} s`, options);
    this.seconds = seconds;
  }
}

/** Why a function was told to stop before its end: the reason of `job.signal`. */
export type Why = "cancelled" | "timeout" | "lost" | "stopping";

const texts: Record<Why, string> = {
  cancelled: "the job was cancelled",
  timeout: "the job has had its time",
  lost: "the lease was lost: another worker may have the job",
  stopping: "the worker is stopping",
};

/** The reason of `job.signal` when a function is to stop before its end. */
export class JobStopped extends Error {
  override readonly name = "JobStopped";
  readonly why: Why;

  constructor(why: Why) {
    super(texts[why]);
    this.why = why;
  }
}

/** What an error says in one line; what fetch throws says the interesting part in its cause. */
export function lineOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `thrown: ${String(thrown)}`;
  const text = thrown.message || thrown.name;
  const cause = thrown.cause instanceof Error ? thrown.cause.message : "";
  return cause && !text.includes(cause) ? `${text}: ${cause}` : text;
}
