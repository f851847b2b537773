import { format } from "node:util";
import type { JobLog } from "./log.js";
import type { Assignment, Input, Job as JobRecord } from "./wire.js";

/** A job in a function's hands. */
export class Job {
  /** The job as the node has it. */
  readonly record: JobRecord;
  /** Counts the runs of the job, from 1: a job may be run more than once. */
  readonly attempt: number;
  /** How long the attempt may take, in seconds. */
  readonly timeout: number;
  /** The variables of the flow and of the job. */
  readonly env: Readonly<Record<string, string>>;
  /** What the job was given beside its arguments: params of a flow, results of what it needed. */
  readonly input: Input;
  readonly #log: JobLog;
  readonly #controller: AbortController;

  /** @internal */
  constructor(a: Assignment, controller: AbortController, log: JobLog) {
    this.record = a.job;
    this.attempt = a.attempt;
    this.timeout = a.timeout_ms / 1000;
    this.env = a.env ?? {};
    this.input = a.input;
    this.#controller = controller;
    this.#log = log;
  }

  /** The job's key, the same in all attempts: "job:12:2001". */
  get key(): string {
    return `job:${this.record.caller_id}:${this.record.id}`;
  }

  /** Aborted when the function is to stop before its end; its reason is a JobStopped, which says why. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Adds to the job's log, which people follow while it runs. It writes as console.log does. */
  log(...values: unknown[]): void {
    this.#log.add("stdout", format(...values));
  }

  /** Adds to the job's log as an error. */
  error(...values: unknown[]): void {
    this.#log.add("stderr", format(...values));
  }
}
