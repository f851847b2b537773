import { randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Client, type JobRef } from "./client.js";
import { PartlyRefused, RametError, lineOf } from "./errors.js";
import { FlowHandle } from "./flow.js";
import { JobHandle } from "./handle.js";
import type { Job } from "./job.js";
import { addressesOf, type TokenSource } from "./nodes.js";
import { argsOf, type Handler, type Middleware } from "./perform.js";
import { Shift, type Logger } from "./shift.js";
import { inputOf, type JobOptions, type SubmitOptions } from "./submit.js";
import { keyToken } from "./token.js";
import { defaultLeaseMs, maxWorkerLeaseMs, maxWorkerTypes, minWorkerLeaseMs } from "./wire.js";
import type { FlowInput, Job as JobRecord, JobInput, JobQuery, Submitted } from "./wire.js";

export interface AppOptions {
  /**
   * The node's address, as http://host:port or https://; the node's name may stand behind a "#". Several nodes of one board are a list,
   * or have commas between them: where one does not answer the next is asked. Default: $RAMET_NODE, else http://127.0.0.1:7480.
   */
  url?: string | readonly string[];
  /** The number of the context to work in. Default: $RAMET_CONTEXT, else 1. */
  context?: number;
  /** The token, or what gives one for the node of a name. Default: $RAMET_TOKEN, else one signed with the key file $RAMET_KEY for the node of the URL. */
  token?: TokenSource;
  /** Takes what a person running the worker should know. Default: the standard error. */
  logger?: Logger;
}

/** How a worker runs. Times are in seconds. */
export interface RunOptions {
  /** How many functions run at once. Default: 64. */
  concurrency?: number;
  /** Ends the worker. Default: SIGTERM and SIGINT do. */
  signal?: AbortSignal;
  /** How long a job stays with a worker that is not heard of, 5 to 600. Default: 30. */
  lease?: number;
  /**
   * How long functions may go on when the worker is told to stop; then they are told, too, and their jobs go back. One that
   * does not listen holds up the end until it is done, for a lease at the most. Default: 30.
   */
  grace?: number;
  /** What jobs may ask for by affinity. */
  labels?: Record<string, string>;
  /** Another for each start of the program. Default: the machine's name and a random word. */
  name?: string;
  /** What the list of runners shows. */
  version?: string;
}

/** How a request is made. */
export interface RequestOptions {
  /**
   * The Idempotency-Key: within 24 hours, what is submitted again with it is submitted once, and what is not the same to
   * the byte is refused. Default: a random one, so that the request can be repeated when its answer is lost.
   */
  key?: string;
  signal?: AbortSignal;
}

/** A function of the program that runs as jobs. */
export interface JobFunction<Args> {
  /** Its name: the type of its jobs. */
  readonly name: string;
  /** Runs one job, without a node: see ramet/testing. */
  readonly handler: Handler;
  /** Has the function run as a job. */
  submit(...a: Submission<Args>): Promise<JobHandle>;
  /** Has the function run as many jobs, up to 10,000 in one request. It throws PartlyRefused when not all were taken. */
  submitMany(list: readonly Args[], options?: SubmitOptions & RequestOptions): Promise<JobHandle[]>;
}

/** What a submit takes: a function without arguments needs none. */
type Submission<Args> = undefined extends Args
  ? [args?: Args, options?: SubmitOptions & RequestOptions]
  : [args: Args, options?: SubmitOptions & RequestOptions];

/** Marks apps, those of another copy of this package too. */
const brand = Symbol.for("ramet.app");

/** How long a caller's own key may be: something is added to it where jobs have to be handed in a second time. */
const maxKey = 240;

/** A program's functions as jobs of one context: to submit them, and to run them. */
export class App {
  readonly [brand] = true;
  /** The operations as they go over the wire. */
  readonly client: Client;
  readonly #functions = new Map<string, Handler>();
  readonly #middleware: Middleware[] = [];
  readonly #logger: Logger;

  constructor(options: AppOptions = {}) {
    const env = process.env;
    const url = options.url ?? env["RAMET_NODE"] ?? "http://127.0.0.1:7480";
    const token = options.token ?? env["RAMET_TOKEN"] ?? (env["RAMET_KEY"] ? keyTokens(env["RAMET_KEY"], url) : "");
    this.client = new Client({ url, token, context: options.context ?? Number(env["RAMET_CONTEXT"] ?? 1) });
    this.#logger = options.logger ?? { info: say, warn: say };
  }

  /** Whether something is an app. */
  static is(value: unknown): value is App {
    return typeof value === "object" && value !== null && brand in value;
  }

  /** Has jobs of a type run by a function, and says how its jobs run unless a submit says otherwise. */
  job<Args = undefined>(name: string, options: JobOptions, f: (args: Args, job: Job) => unknown): JobFunction<Args>;
  job<Args = undefined>(name: string, f: (args: Args, job: Job) => unknown): JobFunction<Args>;
  job<Args>(name: string, ...rest: [JobOptions, (args: Args, job: Job) => unknown] | [(args: Args, job: Job) => unknown]): JobFunction<Args> {
    const [options, f] = rest.length === 2 ? rest : [{}, rest[0]];
    if (this.#functions.has(name)) throw new RametError("invalid", `there are two functions of the name ${JSON.stringify(name)}`);
    const handler: Handler = (job) => this.#wrapped(job, () => f(argsOf(job) as Args, job));
    this.#functions.set(name, handler);
    return {
      name,
      handler,
      submit: (args?: Args, own?: SubmitOptions & RequestOptions) => this.submit(name, args, { ...options, ...own }),
      submitMany: (list, own) => this.submitMany(list.map((args) => ({ type: name, args, ...options, ...own })), own),
    };
  }

  /** Wraps all functions, those that are registered later too; what was used first is outermost. */
  use(...middleware: Middleware[]): this {
    this.#middleware.push(...middleware);
    return this;
  }

  /** Submits a job to a function by its name, which may be of another program. */
  async submit(type: string, args?: unknown, options: SubmitOptions & RequestOptions = {}): Promise<JobHandle> {
    const [outcome] = await this.#submit([inputOf(type, args, options)], options);
    if (outcome instanceof RametError) throw outcome;
    return outcome!;
  }

  /** Submits many jobs in one request, up to 10,000. It throws PartlyRefused when not all were taken. */
  async submitMany(list: readonly ({ type: string; args?: unknown } & SubmitOptions)[], options: RequestOptions = {}): Promise<JobHandle[]> {
    if (list.length === 0) return [];
    const outcomes = await this.#submit(list.map(({ type, args, ...own }) => inputOf(type, args, own)), options);
    const taken = outcomes.filter((o) => o instanceof JobHandle);
    if (taken.length < outcomes.length) throw new PartlyRefused(outcomes);
    return taken;
  }

  /** A job that was submitted before, by its key. */
  handle(job: JobRef): JobHandle {
    return new JobHandle(this.client, job);
  }

  /**
   * Submits a flow: of a blueprint by its name (`{ blueprint: "nightly", params: { region: "eu" }, trigger: "2026-12-24" }`:
   * of a blueprint and a trigger one flow is made, ever), of a text of one, or of jobs.
   */
  async submitFlow(flow: Partial<FlowInput>, { key = randomUUID(), signal }: RequestOptions = {}): Promise<FlowHandle> {
    const { id, error } = await this.client.submitFlow(flow, key, signal);
    if (error) throw RametError.of(error);
    return new FlowHandle(this.client, id!);
  }

  /** A flow that was submitted before, by its number. */
  flow(id: number): FlowHandle {
    return new FlowHandle(this.client, id);
  }

  /** The jobs of the context that the filter leaves, without scripts, environment and results. */
  list(filter?: JobQuery, signal?: AbortSignal): AsyncGenerator<JobRecord, void> {
    return this.client.list(filter, signal);
  }

  /**
   * Claims jobs of the app's functions and runs them, until the signal is aborted; without one, until SIGTERM or SIGINT.
   * Then it lets functions go on for the grace time, tells them to stop, gives back what has not ended, and returns.
   */
  async run(options: RunOptions = {}): Promise<void> {
    const { concurrency = 64, lease = defaultLeaseMs / 1000, grace = 30, labels = {}, version = "" } = options;
    const types = this.#functions.size;
    if (types === 0) throw new RametError("invalid", "the app has no functions: call app.job before app.run");
    if (types > maxWorkerTypes) throw new RametError("limit", `the app has ${types} functions, a worker takes ${maxWorkerTypes}: make several apps`);
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new RametError("invalid", `concurrency ${concurrency}: want a number from 1`);
    if (lease * 1000 < minWorkerLeaseMs || lease * 1000 > maxWorkerLeaseMs) {
      throw new RametError("invalid", `lease ${lease}: want ${minWorkerLeaseMs / 1000} to ${maxWorkerLeaseMs / 1000} seconds`);
    }
    const shift = new Shift({
      client: this.client, handlers: this.#functions, concurrency, leaseMs: Math.round(lease * 1000), graceMs: grace * 1000, labels, version,
      name: options.name ?? nameOfLife(), logger: this.#logger,
    });
    if (options.signal) return shift.run(options.signal);
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    // Once: who is told a second time ends at once.
    process.once("SIGTERM", stop).once("SIGINT", stop);
    try {
      await shift.run(stopping.signal);
    } finally {
      process.off("SIGTERM", stop).off("SIGINT", stop);
    }
  }

  #wrapped(job: Job, f: () => unknown): unknown {
    const call = (i: number): unknown => {
      const m = this.#middleware[i];
      return m ? m(job, async () => call(i + 1)) : f();
    };
    return call(0);
  }

  async #submit(inputs: Partial<JobInput>[], { key = randomUUID(), signal }: RequestOptions): Promise<(JobHandle | RametError)[]> {
    if (Buffer.byteLength(key) > maxKey) throw new RametError("invalid", `key: want at most ${maxKey} bytes`);
    const answers = await this.client.submit(inputs, key, signal);
    const unknown = inputs.flatMap((input, i) => (isUnknownType(answers[i]) ? [{ input, i }] : []));
    if (unknown.length > 0) {
      // No worker has asked for the type yet. What the node has answered under the key it answers again, so the jobs
      // come under another, which is always the same: who submits again with the key gets here again.
      await this.client.register([...new Set(unknown.map(({ input }) => input.script_type!))], signal);
      const again = await this.client.submit(unknown.map(({ input }) => input), `${key}/registered`, signal);
      unknown.forEach(({ i }, n) => (answers[i] = again[n]!));
    }
    return answers.map((a) => (a.error ? RametError.of(a.error) : new JobHandle(this.client, a.key!)));
  }
}

/** Signs tokens for each node of the addresses. */
function keyTokens(file: string, url: string | readonly string[]): TokenSource {
  const tokens = new Map(addressesOf(url).map(({ name }) => [name, keyToken(file, name)]));
  return (node) => tokens.get(node)!();
}

/** The node has no code of its own for this; when its words change, a test of the SDK says so. */
const isUnknownType = (answer: Submitted | undefined): boolean =>
  answer?.error?.code === "invalid" && answer.error.detail.startsWith("script type ") && answer.error.detail.includes("is not known here");

function nameOfLife(): string {
  const host = hostname().replace(/[^A-Za-z0-9.-]/g, "").slice(0, 40).replace(/^[-.]+|[-.]+$/g, "");
  return `${host || "worker"}-${randomBytes(6).toString("hex")}`;
}

function say(message: string, facts: object = {}): void {
  const shown = Object.entries(facts).map(([name, value]) => `${name}=${value instanceof Error ? JSON.stringify(lineOf(value)) : String(value)}`);
  console.error(["ramet:", message, ...shown].join(" "));
}
