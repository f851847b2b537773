import { partsOf, type Client, type JobRef, type Waiting } from "./client.js";
import type { Job as JobRecord, JobExplanation, Log } from "./wire.js";

/** A job that was submitted. */
export class JobHandle {
  /** The job's key, as "job:12:2001". */
  readonly key: string;
  readonly caller: number;
  readonly id: number;
  readonly #client: Client;

  constructor(client: Client, job: JobRef) {
    ({ caller: this.caller, id: this.id } = partsOf(job));
    this.key = `job:${this.caller}:${this.id}`;
    this.#client = client;
  }

  /** The job as it stands. */
  show(signal?: AbortSignal): Promise<JobRecord> {
    return this.#client.show(this, signal);
  }

  /** The job once it has ended, well or badly (its status is "finished" or "error"), or as it stands after the timeout. */
  wait(waiting?: Waiting): Promise<JobRecord> {
    return this.#client.wait(this, waiting);
  }

  /** The lines of the job's log as they come, until it has ended. */
  logs(options?: { from?: number; signal?: AbortSignal }): AsyncGenerator<Log, JobRecord> {
    return this.#client.logs(this, options);
  }

  /** Asks for the job to end: at once where it waits; a running one is told to stop. */
  cancel(signal?: AbortSignal): Promise<JobRecord> {
    return this.#client.cancel(this, signal);
  }

  /** Starts the job again that ended in error. */
  retry(signal?: AbortSignal): Promise<JobRecord> {
    return this.#client.retry(this, signal);
  }

  /** Sends a signal to the job, whose wait of that name gives the payload, now or later. */
  signal(name: string, payload?: unknown, signal?: AbortSignal): Promise<JobRecord> {
    return this.#client.signal(this, name, payload, signal);
  }

  /** Says why the job is where it is. */
  explain(signal?: AbortSignal): Promise<JobExplanation> {
    return this.#client.explain(this, signal);
  }
}
