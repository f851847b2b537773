/**
 * Durable scripts: steps that are remembered, and waits that no process has to live for.
 *
 *     import { step, sleep, wait } from "ramet";
 *     const user = await step("create", () => create("ada"));     // runs once, whatever happens
 *     await sleep("a day", 86400);                                // the process ends, and comes back to here
 *     const click = await wait("clicked", { timeout: 3 * 86400 }); // until somebody signals the job
 *
 * After a crash, a sleep or a wait the script runs from its top again, and what it has remembered is given back without
 * being done a second time. So what stands outside of steps must come to the same each time: for what does not, there are
 * `now`, `random` and `uuid`.
 *
 * In jobs of type node this file is all that there is of the package, as it stands: so it is JavaScript, and needs
 * nothing but Node.js 18.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { connect } from "node:net";
import { basename, dirname, relative } from "node:path";
import { openSync } from "node:fs";

/** @typedef {{ kind?: string, text: string }} Failure What is remembered of a step that has failed. */
/**
 * @typedef {{ done?: boolean, again?: boolean, after_ms?: number, n?: number, key?: string, attempt?: number, value?: unknown,
 *   failure?: Failure, timed_out?: boolean, suspend?: boolean, ends?: { value?: unknown, failure?: Failure, child?: string }[],
 *   error?: { kind: string, text: string } }} Answer
 * What a node answers: see package durable.
 */
/** @typedef {{ do: string } & Record<string, unknown>} Request What is asked of a node: see package durable. */

/** What a step's function may know of its step. */
/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} key The same in all attempts: the idempotency key for whatever is called.
 * @property {number} attempt Counts the times that it was begun, from 1.
 */
/**
 * @typedef {object} StepOptions
 * @property {number} [retries] How often a step that throws is tried again before it has failed. Default: 0.
 * @property {number} [after] The time before the first of them, in seconds; it doubles each time. Default: 1.
 */
/**
 * @typedef {object} WaitOptions
 * @property {string} [signal] The name of the signal. Default: that of the wait.
 * @property {string} [prerequisite] What to wait for instead, such as "file:in.csv" or "job:12:7": the wait gives true when it is
 *   met, and throws StepFailed where it can never be.
 * @property {number} [timeout] How long to wait, in seconds. Default: for ever.
 */
/**
 * @typedef {object} ApprovalOptions What a person is asked; as an approval of a flow.
 * @property {string} [text] What it is about.
 * @property {string[]} [approvers] Actors by number, and roles: who may decide. Default: whoever may start flows.
 * @property {boolean} [not_submitter] Whether who submitted the job may not.
 * @property {Record<string, Record<string, unknown>> | Record<string, unknown>[]} [answers] What who says yes fills in, by name: type, required, default …
 * @property {Record<string, unknown>} [notice] The effect that is told when it begins.
 * @property {"reject" | "approve" | "fail"} [on_deadline] What becomes of it when the time is over. Default: it throws TimedOut.
 * @property {number} [timeout] How long to wait, in seconds. Default: for ever.
 */
/**
 * @typedef {object} Decision
 * @property {boolean} approved Whether it is a yes.
 * @property {string} by The number of the actor who has decided.
 * @property {string} comment
 * @property {Record<string, string>} answers
 */
/**
 * @typedef {object} CallOptions What is done by a job or a flow of its own: a blueprint, or a script.
 * @property {string} [blueprint]
 * @property {number} [version] Default: the newest.
 * @property {string} [script]
 * @property {string} [script_type] Default: that of the job.
 * @property {number} [timeout] Of the script, in seconds.
 * @property {number} [retries] Of the script.
 * @property {Record<string, unknown>} [params] What is no text goes as JSON.
 */

/** A step has failed for good. That is remembered: it fails in later runs of the script, too. */
export class StepFailed extends Error {
  /** @override */
  name = "StepFailed";
}

/** What was waited for did not come in time. That is remembered, too. */
export class TimedOut extends Error {
  /** @override */
  name = "TimedOut";
}

/** The node refuses what was asked, and says why. */
export class ChannelError extends Error {
  /** @override */
  name = "ChannelError";
  /**
   * @param {string} kind
   * @param {string} text
   */
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

/** What a job remembers: the functions of this module are those of one that a script has. */
export class Steps {
  /** @type {(request: Request) => Promise<Answer>} */
  #send;
  /** @type {AsyncLocalStorage<string>} */
  #doing = new AsyncLocalStorage();

  /**
   * @param {(request: Request) => Promise<Answer>} send Gives the answer of a node; it rejects with a ChannelError, and
   *   not at all settles where the node asks to suspend.
   */
  constructor(send) {
    this.#send = send;
  }

  /**
   * Runs f once, ever, and gives what it returned.
   * @template T
   * @param {string} name
   * @param {(step: Step) => T | Promise<T>} f
   * @param {StepOptions} [options]
   * @returns {Promise<T>}
   */
  async step(name, f, options = {}) {
    /** @type {number | undefined} */
    let n;
    for (;;) {
      let answer = await this.#ask({ do: "step", name, n });
      /** @type {unknown} */
      let cause;
      if (!answer.done) {
        n = /** @type {number} */ (answer.n);
        const step = { name, key: String(answer.key), attempt: Number(answer.attempt) };
        [answer, cause] = await this.#do(step, n, f, options);
      }
      if (answer.again) continue; // the node waits with it, or has the process end if that takes long
      if (answer.failure) throw new StepFailed(answer.failure.text, cause === undefined ? {} : { cause });
      return /** @type {T} */ (answer.value);
    }
  }

  /**
   * Calls a step's function, has it remembered what came of that, and gives that as the node would, with its cause.
   * @template T
   * @param {Step} step
   * @param {number} n
   * @param {(step: Step) => T | Promise<T>} f
   * @param {StepOptions} options
   * @returns {Promise<[Answer, unknown]>}
   */
  async #do(step, n, f, { retries = 0, after = 1 }) {
    const request = { do: "done", name: step.name, n };
    /** @type {unknown} */
    let cause;
    let final = false;
    try {
      const value = await this.#doing.run(step.name, async () => f(step));
      final = true;
      const plain = plainOf(value);
      const answer = await this.#ask({ ...request, value: plain });
      return [plain === undefined ? answer : { ...answer, value: plain }, undefined];
    } catch (err) {
      // What is too large, or no JSON, would be done again if it were not remembered that it has failed.
      if (err instanceof ChannelError && err.kind !== "limit") throw err;
      cause = err;
    }
    /** @type {Failure} */
    const failure = cause instanceof Error ? { kind: cause.name, text: cause.message || cause.name } : { text: String(cause) };
    const again = !final && step.attempt <= retries ? { retry_after_ms: Math.round(after * 1000 * 2 ** Math.min(step.attempt - 1, 16)) } : {};
    return [{ ...(await this.#ask({ ...request, failure, ...again })), failure }, cause];
  }

  /**
   * Sleeps for some time, in seconds, or until a date.
   * @param {string} name
   * @param {number | Date} time
   * @returns {Promise<void>}
   */
  async sleep(name, time) {
    await this.#ask({ do: "sleep", name, ...(time instanceof Date ? { until_ms: time.getTime() } : { for_ms: Math.round(time * 1000) }) });
  }

  /**
   * Waits for a signal to the job, and gives its payload.
   * @param {string} name
   * @param {WaitOptions} [options]
   * @returns {Promise<any>}
   */
  async wait(name, { signal, prerequisite, timeout } = {}) {
    return this.#wait(name, { signal, prerequisite }, timeout);
  }

  /**
   * Asks a person, and gives what was decided.
   * @param {string} name
   * @param {ApprovalOptions} [options]
   * @returns {Promise<Decision>}
   */
  async approval(name, { timeout, ...approval } = {}) {
    return this.#wait(name, { approval }, timeout);
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} what
   * @param {number | undefined} timeout
   * @returns {Promise<any>}
   */
  async #wait(name, what, timeout) {
    const answer = await this.#ask({ do: "wait", name, ...what, ...(timeout === undefined ? {} : { timeout_ms: Math.round(timeout * 1000) }) });
    if (answer.timed_out) throw new TimedOut(`${name}: what it waits for did not come within ${timeout} s`);
    if (answer.failure) throw new StepFailed(answer.failure.text);
    return answer.value;
  }

  /**
   * Has a job or a flow of its own done, and gives its result.
   * @param {string} name
   * @param {CallOptions} what
   * @returns {Promise<Record<string, string>>}
   */
  async call(name, what) {
    const [result] = await this.gather([{ name, ...what }]);
    return result ?? {};
  }

  /**
   * Has jobs and flows done side by side, and gives their results in that order when all have ended.
   * @param {({ name: string } & CallOptions)[]} calls
   * @returns {Promise<Record<string, string>[]>}
   */
  async gather(calls) {
    if (calls.length === 0) return [];
    const asked = calls.map(({ params, ...what }) => ({ ...what, ...(params === undefined ? {} : { params: textsOf(params) }) }));
    const { ends = [] } = await this.#ask({ do: "call", calls: asked });
    return ends.map(({ value, failure }) => {
      if (failure) throw new StepFailed(failure.text);
      return /** @type {Record<string, string>} */ (value);
    });
  }

  /**
   * The time.
   * @returns {Promise<Date>}
   */
  async now() {
    return new Date(Number((await this.#ask({ do: "now" })).value));
  }

  /**
   * A number from 0 to below 1.
   * @returns {Promise<number>}
   */
  async random() {
    return Number((await this.#ask({ do: "random" })).value);
  }

  /**
   * A UUID.
   * @returns {Promise<string>}
   */
  async uuid() {
    return String((await this.#ask({ do: "uuid" })).value);
  }

  /**
   * The version of what name is that this job began with, at most n.
   * @param {string} name
   * @param {number} n
   * @returns {Promise<number>}
   */
  async version(name, n) {
    return Number((await this.#ask({ do: "version", name, n })).value);
  }

  /**
   * Asks the node, again while its board is away.
   * @param {Request} request
   * @returns {Promise<Answer>}
   */
  async #ask(request) {
    const inside = this.#doing.getStore();
    if (inside !== undefined) {
      // It would wait for itself: what is in a step is remembered as a whole.
      throw new Error(`${request.do} inside of step "${inside}": what a step does cannot have steps, sleeps and waits of its own`);
    }
    for (let pause = 100; ; pause = Math.min(2 * pause, 5000)) {
      try {
        return await this.#send(request);
      } catch (err) {
        if (!(err instanceof ChannelError) || err.kind !== "unavailable") throw err;
      }
      await delay(pause);
    }
  }
}

/**
 * A value as it comes back from JSON, so that a script finds the same in its first run and in later ones.
 * @param {unknown} value
 * @returns {unknown}
 */
function plainOf(value) {
  const text = /** @type {string | undefined} */ (JSON.stringify(value));
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * Params as texts: what is none as JSON.
 * @param {Record<string, unknown>} params
 */
const textsOf = (params) =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
const delay = (ms) => new Promise((resolve) => void setTimeout(resolve, ms));

/**
 * Ends the process: the node has ended this attempt, or is gone, and the script goes on from its top elsewhere. A
 * rejection would be taken for a failure of what was asked for.
 * @returns {never}
 */
function lost() {
  process.stderr.write("ramet: the node has ended this attempt at the job\n");
  process.exit(1);
}

/** The connection of a script to its node. */
class Channel {
  /** @type {Map<number, { resolve: (answer: Answer) => void, reject: (err: Error) => void }>} */
  #asked = new Map();
  #last = 0;
  #socket;

  /** @param {string} path */
  constructor(path) {
    this.#socket = connect(addressOf(path)).setEncoding("utf8").unref();
    let text = "";
    this.#socket.on("data", (/** @type {string} */ part) => {
      const lines = (text + part).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line));
    });
    const gone = () => {
      if (this.#asked.size > 0) lost();
    };
    this.#socket.on("error", gone).on("close", gone);
  }

  /** @param {Answer & { id?: number }} answer */
  #take(answer) {
    if (answer.suspend) process.exit(0); // what waits runs from its top again
    const asked = this.#asked.get(answer.id ?? 0);
    this.#asked.delete(answer.id ?? 0);
    if (this.#asked.size === 0) this.#socket.unref();
    if (answer.error?.kind === "lost") lost();
    if (answer.error) asked?.reject(new ChannelError(answer.error.kind, answer.error.text));
    else asked?.resolve(answer);
  }

  /**
   * @param {Request} request
   * @returns {Promise<Answer>}
   */
  send(request) {
    const id = ++this.#last;
    this.#socket.ref(); // the process is not over while somebody waits for an answer
    this.#socket.write(JSON.stringify({ id, ...request }) + "\n");
    return new Promise((resolve, reject) => void this.#asked.set(id, { resolve, reject }));
  }
}

/**
 * A path as it fits into the address of a socket.
 * @param {string} path
 * @returns {string}
 */
function addressOf(path) {
  if (Buffer.byteLength(path) <= 100) return path;
  const near = relative(process.cwd(), path);
  return near.length <= 100 ? near : `/proc/self/fd/${openSync(dirname(path), "r")}/${basename(path)}`;
}

/** @type {Channel | undefined} */
let channel;

const script = new Steps(async (request) => {
  const path = process.env["RAMET_CHANNEL"];
  if (!path) throw new Error(`${request.do} is for jobs that a node runs: $RAMET_CHANNEL is not set here`);
  channel ??= new Channel(path);
  return channel.send(request);
});

/**
 * Runs f once, ever, and gives what it returned, to later runs of the script too. JSON must be able to carry it.
 *
 * When f throws, it is tried again as often as `retries` say. When it has failed for good, that is remembered, and StepFailed
 * thrown.
 * @template T
 * @param {string} name
 * @param {(step: Step) => T | Promise<T>} f
 * @param {StepOptions} [options]
 * @returns {Promise<T>}
 */
export const step = (name, f, options) => script.step(name, f, options);

/**
 * Sleeps for some time, in seconds, or until a date. Unless that is short, the process ends meanwhile.
 * @param {string} name
 * @param {number | Date} time
 * @returns {Promise<void>}
 */
export const sleep = (name, time) => script.sleep(name, time);

/**
 * Waits for a signal to the job, and gives its payload. The process ends meanwhile. It throws TimedOut when none comes in time.
 * With a prerequisite it waits until that is met.
 * @param {string} name
 * @param {WaitOptions} [options]
 * @returns {Promise<any>}
 */
export const wait = (name, options) => script.wait(name, options);

/**
 * Asks a person, and gives what was decided. The process ends meanwhile. It throws TimedOut when nobody has decided in time.
 * @param {string} name
 * @param {ApprovalOptions} [options]
 */
export const approval = (name, options) => script.approval(name, options);

/**
 * Has a job or a flow of its own done, and gives its result. It is made once, whatever happens, and cancelled with the job.
 * The process ends meanwhile. It throws StepFailed when that has ended badly, which is remembered.
 * @param {string} name
 * @param {CallOptions} what
 */
export const call = (name, what) => script.call(name, what);

/**
 * Has jobs and flows done side by side, and gives their results in that order when all have ended. It throws StepFailed for the
 * first of them that has ended badly.
 * @param {({ name: string } & CallOptions)[]} calls
 */
export const gather = (calls) => script.gather(calls);

/** The time: the same in later runs of the script. */
export const now = () => script.now();

/** A number from 0 to below 1: the same in later runs of the script. */
export const random = () => script.random();

/** A UUID: the same in later runs of the script. */
export const uuid = () => script.uuid();

/**
 * Says that what name is has version n in this script; gives the one that this job began with, 0 where it came past here
 * before there was one. So a script that was changed goes on with each job as that began.
 * @param {string} name
 * @param {number} n
 */
export const version = (name, n) => script.version(name, n);
