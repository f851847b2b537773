import { RametError } from "./errors.js";
import { readEvents } from "./events.js";
import { Transport, pause, type Condition, type Tagged } from "./http.js";
import type { TokenSource } from "./nodes.js";
import type * as wire from "./wire.js";

/** A job's key: "job:12:2001", or its parts. */
export type JobRef = string | { readonly caller: number; readonly id: number };

export interface ClientOptions {
  /**
   * The node's address: http://host:port or https://; its name may stand behind a "#". Several nodes of one board are a list, or have
   * commas between them: where one does not answer the next is asked.
   */
  url: string | readonly string[];
  /** The number of the context to work in. */
  context: number;
  /** The token, or what gives one for the node of a name; see also `keyToken`. */
  token: TokenSource;
}

/** How long to wait, in seconds, and what ends the wait before. */
export interface Waiting {
  timeout?: number;
  signal?: AbortSignal;
}

/** How something is done to all that a filter fits. */
export interface AllOptions {
  /** Says how many there are, and does nothing. */
  dryRun?: boolean;
  signal?: AbortSignal;
}

/** What a worker is called, and a job that it has: the wire's words. */
export type Held = wire.HeldAttempt;

/** How long one request waits for a job's end: the most that a node does. */
const waitMs = 60_000;

/** The operations of one context of a node, as they go over the wire. */
export class Client {
  readonly #http: Transport;
  readonly #context: string;

  constructor(options: ClientOptions) {
    if (!Number.isInteger(options.context) || options.context < 1) throw new RametError("invalid", "context: want the number of a context, from 1");
    this.#http = new Transport(options.url, options.token);
    this.#context = `/v1/contexts/${options.context}`;
  }

  /** Lets go of idle connections. The client can still be used. */
  close(): void {
    this.#http.close();
  }

  /**
   * Hands in jobs. Each place of the answer is a job's key, or the reason why it was refused. With the same key, they are
   * handed in once.
   */
  async submit(jobs: Partial<wire.JobInput>[], key: string, signal?: AbortSignal): Promise<wire.Submitted[]> {
    const call = { body: JSON.stringify({ jobs }), key, signal };
    const answer = await this.#http.json<wire.JobSubmitted>("POST", `${this.#context}/jobs`, call);
    if (answer.jobs.length !== jobs.length) {
      throw new RametError("internal", `submit ${jobs.length} jobs: the node answered for ${answer.jobs.length}`);
    }
    return answer.jobs;
  }

  /** The job as it stands. */
  show(job: JobRef, signal?: AbortSignal): Promise<wire.Job> {
    return this.#http.json("GET", this.#path(job), { signal });
  }

  /** The job once it has ended, well or badly, or as it stands after the timeout. It goes on over connections that break. */
  wait(job: JobRef, waiting: Waiting = {}): Promise<wire.Job> {
    return this.#await<wire.Job>(this.#path(job), waiting, ended);
  }

  async #await<T>(path: string, { timeout = Infinity, signal }: Waiting, final: (thing: T) => boolean): Promise<T> {
    const until = performance.now() + timeout * 1000;
    for (;;) {
      const asked = performance.now();
      const left = Math.min(Math.max(Math.round(until - asked), 1), waitMs);
      const thing = await this.#http.json<T>("GET", `${path}/wait`, { query: { timeout_ms: left }, waitMs: left, signal });
      if (final(thing) || performance.now() >= until) return thing;
      if (performance.now() - asked < left / 2) await pause(0, signal); // a node that does not wait is not to be asked in a tight loop
    }
  }

  /**
   * The lines of a job's log, from line number `from` on, as they come; it ends when the job has ended.
   * Each line comes once and in order, also over connections that break.
   */
  async *logs(job: JobRef, { from = 0, signal }: { from?: number; signal?: AbortSignal | undefined } = {}): AsyncGenerator<wire.Log, wire.Job> {
    const path = `${this.#path(job)}/logs`;
    for (let tries = 0, next = from; ; tries++) {
      let failure: unknown;
      try {
        for await (const e of readEvents(this.#http.stream(path, { query: { from: next }, waitMs, signal }))) {
          if (e.name === "end") return JSON.parse(e.data) as wire.Job;
          if (e.name === "error") throw RametError.of(JSON.parse(e.data) as wire.Problem);
          if (e.name !== "log" || Number(e.id) < next) continue; // for later versions; or seen before
          next = Number(e.id) + 1;
          tries = 0;
          yield JSON.parse(e.data) as wire.Log;
        }
        failure = new RametError("unavailable", "the node ended the stream before the job ended");
      } catch (err) {
        signal?.throwIfAborted();
        failure = err;
      }
      if (!this.#http.mayTryAgain(failure, tries)) throw failure;
      await pause(tries, signal, (failure as RametError).retryAfter);
    }
  }

  /** All jobs that the filter leaves, page by page, without scripts, environment and results. */
  async *list(query: wire.JobQuery = {}, signal?: AbortSignal): AsyncGenerator<wire.Job, void> {
    for (let cursor: string | undefined; ; ) {
      const page: wire.JobPage = await this.#http.json("GET", `${this.#context}/jobs`, { query: { ...query, cursor }, signal });
      yield* page.jobs;
      if (!page.next) return;
      cursor = page.next;
    }
  }

  /** Asks for a job to end: at once where it waits; a running one is told to stop. */
  cancel(job: JobRef, signal?: AbortSignal): Promise<wire.Job> {
    return this.#http.json("POST", `${this.#path(job)}/cancel`, { signal });
  }

  /** Starts a job again that ended in error. */
  retry(job: JobRef, signal?: AbortSignal): Promise<wire.Job> {
    return this.#http.json("POST", `${this.#path(job)}/retry`, { signal });
  }

  /**
   * Sends a signal to a job, whose wait of that name gives the payload, now or later. It is not made again by itself when
   * no answer comes: two would be two.
   */
  signal(job: JobRef, name: string, payload: unknown = null, signal?: AbortSignal): Promise<wire.Job> {
    const body = JSON.stringify({ name, payload } satisfies wire.SignalParams);
    return this.#http.json("POST", `${this.#path(job)}/signal`, { body, signal });
  }

  /** Says why a job is where it is. */
  explain(job: JobRef, signal?: AbortSignal): Promise<wire.JobExplanation> {
    return this.#http.json("GET", `${this.#path(job)}/explain`, { signal });
  }

  /**
   * Begins to cancel all jobs that a filter fits and that have not ended; with `dryRun`, counts them. It goes on at the
   * nodes; `waitBulk` waits for its end.
   */
  cancelAll(filter: wire.JobFilter, options: AllOptions = {}): Promise<wire.Bulk> {
    return this.#all("cancel", filter, options);
  }

  /** Begins to start all jobs again that a filter fits and that ended in error; with `dryRun`, counts them. */
  retryAll(filter: wire.JobFilter, options: AllOptions = {}): Promise<wire.Bulk> {
    return this.#all("retry", filter, options);
  }

  #all(verb: string, filter: wire.JobFilter, { dryRun, signal }: AllOptions): Promise<wire.Bulk> {
    const query = { ...filter, dry_run: dryRun || undefined };
    return this.#http.json("POST", `${this.#context}/jobs/all/${verb}`, { query, signal });
  }

  /** How far a bulk operation has come. */
  bulk(id: number, signal?: AbortSignal): Promise<wire.Bulk> {
    return this.#http.json("GET", `${this.#context}/bulk/${id}`, { signal });
  }

  /** A bulk operation once it has ended, or as it stands after the timeout. */
  waitBulk(id: number, waiting: Waiting = {}): Promise<wire.Bulk> {
    return this.#await(`${this.#context}/bulk/${id}`, waiting, (b: wire.Bulk) => b.status !== "running");
  }

  /** Ends a bulk operation; what was done stays done. */
  cancelBulk(id: number, signal?: AbortSignal): Promise<wire.Bulk> {
    return this.#http.json("POST", `${this.#context}/bulk/${id}/cancel`, { signal });
  }

  /** Hands in a flow: of a blueprint, of a text of one, or of jobs. With the same key, it is handed in once. */
  async submitFlow(flow: Partial<wire.FlowInput>, key: string, signal?: AbortSignal): Promise<wire.SubmittedFlow> {
    const answer = await this.#http.json<wire.FlowSubmitted>("POST", `${this.#context}/flows`, { body: JSON.stringify(flow), key, signal });
    if (answer.flows.length !== 1) throw new RametError("internal", `submit a flow: the node answered for ${answer.flows.length}`);
    return answer.flows[0]!;
  }

  /** The flow as it stands, with its steps. */
  showFlow(id: number, signal?: AbortSignal): Promise<wire.FlowView> {
    return this.#http.json("GET", this.#flow(id), { signal });
  }

  /** The flow once it has ended, well or badly, or as it stands after the timeout. It goes on over connections that break. */
  waitFlow(id: number, waiting: Waiting = {}): Promise<wire.FlowView> {
    return this.#await<wire.FlowView>(this.#flow(id), waiting, ended);
  }

  /** Ends what a flow has not begun, and tells what runs to stop. */
  cancelFlow(id: number, signal?: AbortSignal): Promise<wire.FlowDone> {
    return this.#http.json("POST", `${this.#flow(id)}/cancel`, { signal });
  }

  /** Starts again what ended in error, keeping checkpoints; with `failed` what failed, too. */
  retryFlow(id: number, { failed = false, signal }: { failed?: boolean; signal?: AbortSignal } = {}): Promise<wire.FlowDone> {
    return this.#http.json("POST", `${this.#flow(id)}/retry`, { body: JSON.stringify({ failed }), signal });
  }

  /** Says what a flow waits for, who holds it, and what will wake it. */
  explainFlow(id: number, signal?: AbortSignal): Promise<wire.FlowExplanation> {
    return this.#http.json("GET", `${this.#flow(id)}/explain`, { signal });
  }

  /** Reads something of the context by its path, such as /schedules/nightly, with its tag. */
  read<T>(path: string, signal?: AbortSignal): Promise<Tagged<T>> {
    return this.#http.tagged<T>("GET", this.#context + path, { signal });
  }

  /**
   * Changes something of the context by its path: with `ifMatch`, the tag of what was read, only while that is so, with
   * `ifNone` only where there is no such thing yet. Else it is refused as a conflict, and nothing is done.
   */
  change<T>(method: "POST" | "PUT" | "DELETE", path: string, options: Condition & { body?: unknown; signal?: AbortSignal } = {}): Promise<T> {
    const { body, signal, ...condition } = options;
    const call = { condition, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    return this.#http.json(method, this.#context + path, call);
  }

  /** Has jobs be of types that workers serve, before the first worker has asked for one. */
  async register(types: string[], signal?: AbortSignal): Promise<void> {
    const call = { body: JSON.stringify({ types } satisfies wire.RegisterParams), again: true, signal };
    await this.#http.json("POST", `${this.#context}/workers`, call);
  }

  /** Takes jobs for a worker, and waits for the first if asked. It is not made again by itself: its answer may have been jobs. */
  async claim(worker: string, ask: wire.WorkerAsk, signal?: AbortSignal): Promise<wire.Assignment[]> {
    const call = { body: JSON.stringify(ask), waitMs: ask.wait_ms ?? 0, signal };
    return (await this.#http.json<wire.Assignments>("POST", this.#worker(worker, "claim"), call)).jobs ?? [];
  }

  /** Renews leases of a worker's jobs, and says of each whether it goes on; it waits until one of them is to stop, if asked. */
  async extend(worker: string, ask: wire.ExtendParams, signal?: AbortSignal): Promise<wire.LeaseState[]> {
    const call = { body: JSON.stringify(ask), waitMs: ask.wait_ms ?? 0, signal };
    return (await this.#http.json<wire.Extended>("POST", this.#worker(worker, "extend"), call)).states ?? [];
  }

  /** Ends attempts of a worker, which are given as JSON, each judged alone. */
  async finish(worker: string, ends: string[], signal?: AbortSignal): Promise<wire.FinishedJob[]> {
    return (await this.#http.json<wire.Finished>("POST", this.#worker(worker, "finish"), { body: `{"jobs":[${ends.join()}]}`, signal })).jobs ?? [];
  }

  /** Says that a worker stops: it is listed no more. */
  async leave(worker: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json("POST", this.#worker(worker, "leave"), { again: true, signal });
  }

  /** Asks what a worker's job remembers. */
  step(worker: string, ask: wire.WorkerStep, signal?: AbortSignal): Promise<wire.WorkerStepAnswer> {
    return this.#http.json("POST", this.#worker(worker, "step"), { body: JSON.stringify(ask), waitMs, signal });
  }

  /** Adds lines to the log of a worker's job. */
  async log(worker: string, held: Held, lines: wire.LogLine[], signal?: AbortSignal): Promise<void> {
    const body = JSON.stringify({ ...held, lines } satisfies wire.WorkerLogParams);
    await this.#http.json("POST", this.#worker(worker, "log"), { body, signal });
  }

  #path(job: JobRef): string {
    const { caller, id } = partsOf(job);
    return `${this.#context}/jobs/${caller}/${id}`;
  }

  #flow(id: number): string {
    return `${this.#context}/flows/${id}`;
  }

  #worker(name: string, what: string): string {
    return `${this.#context}/workers/${encodeURIComponent(name)}/${what}`;
  }
}

/** Whether a job or a flow has ended, well or badly. */
export const ended = ({ status }: { status: string }): boolean => status === "finished" || status === "error";

export function partsOf(job: JobRef): { caller: number; id: number } {
  if (typeof job !== "string") return job;
  const m = /^(?:job:)?(\d+):(\d+)$/.exec(job);
  if (!m) throw new RametError("invalid", `job ${JSON.stringify(job)}: want a key such as job:12:2001`);
  return { caller: Number(m[1]), id: Number(m[2]) };
}
