import { format } from "node:util";
import type { Step, StepOptions, Steps, WaitOptions } from "./durable.js";
import type { JobLog } from "./log.js";
import type { Memory } from "./memory.js";
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
  /** The header of W3C Trace Context for what the function calls, if the job belongs to a trace. */
  readonly traceparent: string | undefined;
  /** What the job was given beside its arguments: params of a flow, results of what it needed. */
  readonly input: Input;
  readonly #log: JobLog;
  readonly #controller: AbortController;
  readonly #memory: Memory | undefined;

  /** @internal */
  constructor(a: Assignment, controller: AbortController, log: JobLog, memory?: Memory) {
    this.#memory = memory;
    this.record = a.job;
    this.attempt = a.attempt;
    this.timeout = a.timeout_ms / 1000;
    this.env = a.env ?? {};
    this.traceparent = a.traceparent;
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

  /** Runs f once, ever, and gives what it returned, to later calls of the job's function too: see `step`. */
  step<T>(name: string, f: (step: Step) => T | Promise<T>, options?: StepOptions): Promise<T> {
    return this.steps.step(name, f, options);
  }

  /** Sleeps for some time, in seconds, or until a date; unless that is short, no worker has the job meanwhile. Let pass what it throws. */
  sleep(name: string, time: number | Date): Promise<void> {
    return this.steps.sleep(name, time);
  }

  /** Waits for a signal to the job, and gives its payload; no worker has the job meanwhile. It throws TimedOut when none comes in time. */
  wait(name: string, options?: WaitOptions): Promise<any> {
    return this.steps.wait(name, options);
  }

  /** What the job remembers: steps, sleeps and waits, and now, random, uuid and version. */
  get steps(): Steps {
    if (!this.#memory) throw new Error("nothing is remembered here: the job is in no worker's hands; tests run functions by ramet/testing");
    return this.#memory.steps;
  }

  /** @internal What the job waits for, where its function was told to end for that. */
  get suspension(): Memory["suspension"] {
    return this.#memory?.suspension;
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
