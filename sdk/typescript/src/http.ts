import type * as http from "node:http";
import { RametError, type Code } from "./errors.js";
import { Nodes, addressesOf, type Node, type TokenSource } from "./nodes.js";
import type { Problem } from "./wire.js";

// This file makes requests. It uses node:http rather than fetch, which costs about twice
// the processor time for each.

/** Bounds an answer, in bytes: a page of jobs whose scripts are large. */
const maxAnswer = 256 << 20;
/** How long a request may take beyond what it asks to wait. */
const patience = 30_000;
/** Bounds how often a request is made again: about half a minute, in which a node can be started anew. */
export const maxTries = 10;

export interface Call {
  query?: Record<string, string | number | boolean | undefined> | undefined;
  /** JSON. */
  body?: string;
  /** The request's Idempotency-Key: with it, as with GET, the request is made again when its answer is lost, or the node asks for that. */
  key?: string;
  /** Sent twice it does what it does once, without a key. */
  again?: boolean;
  /** What a change holds: the tag of what was read, or that there is no such thing yet. */
  condition?: Condition;
  /** How long the node is asked to wait before it answers, in milliseconds. */
  waitMs?: number;
  signal?: AbortSignal | undefined;
}

/** Under which condition something is changed: only while it is what was read with that tag, or only where there is none. */
export interface Condition {
  ifMatch?: string;
  ifNone?: boolean;
}

/** What was read, and the tag that says what it was then: for `ifMatch`. */
export interface Tagged<T> {
  value: T;
  tag: string;
}

export class Transport {
  readonly #nodes: Nodes;
  /** Whether a node has ever answered: where none has, each is asked once. */
  #met = false;

  constructor(url: string | readonly string[], token: TokenSource) {
    this.#nodes = new Nodes(addressesOf(url), token);
  }

  /** Lets go of idle connections. */
  close(): void {
    this.#nodes.close();
  }

  /** One request with a JSON answer. */
  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    return (await this.tagged<T>(method, path, call)).value;
  }

  /** One request with a JSON answer, and the tag of that. */
  async tagged<T>(method: string, path: string, call: Call = {}): Promise<Tagged<T>> {
    const again = method === "GET" || call.key !== undefined || call.again;
    for (let tries = 0; ; tries++) {
      try {
        return await this.#once<T>(method, path, call);
      } catch (err) {
        if (!again || !this.mayTryAgain(err, tries)) throw err;
        await pause(tries, call.signal, (err as RametError).retryAfter);
      }
    }
  }

  /** Whether it makes sense to ask again after an error, and so many before. */
  mayTryAgain(err: unknown, tries: number): boolean {
    if (tries >= (this.#met ? maxTries : this.#nodes.count - 1)) return false;
    return err instanceof RametError && (err.code === "unavailable" || err.code === "exhausted");
  }

  async #once<T>(method: string, path: string, call: Call): Promise<Tagged<T>> {
    const { answer, node } = await this.#open(method, path, "application/json", call);
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxAnswer) throw new RametError("limit", `the answer is longer than ${maxAnswer} bytes; ask for fewer at once`);
        chunks.push(chunk);
      }
    } catch (err) {
      throw unreachable(node, err, method !== "GET", call.signal);
    }
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
    if (answer.statusCode! < 200 || answer.statusCode! > 299) throw refusal(answer, text, node.url.origin);
    try {
      return { value: (text === "" ? undefined : JSON.parse(text)) as T, tag: answer.headers.etag ?? "" };
    } catch (err) {
      throw new RametError("internal", `${method} ${path}: the answer is no JSON: is ${node.url.origin} a Ramet node?`, { cause: err });
    }
  }

  /** The chunks of a stream; where the answer is no success that is thrown. */
  async *stream(path: string, call: Call): AsyncGenerator<string, void> {
    const { answer, node } = await this.#open("GET", path, "text/event-stream", call);
    answer.setEncoding("utf8");
    let problem = "";
    try {
      if (answer.statusCode === 200) return yield* answer as AsyncIterable<string>;
      for await (const chunk of answer) problem += String(chunk);
    } catch (err) {
      throw unreachable(node, err, false, call.signal);
    }
    throw refusal(answer, problem, node.url.origin);
  }

  /** Makes a request and returns its answer, whose body is still to be read, whatever its status. */
  async #open(method: string, path: string, accept: string, call: Call): Promise<{ answer: http.IncomingMessage; node: Node }> {
    const { signal, body } = call;
    signal?.throwIfAborted();
    const { node, leave } = this.#nodes.turn();
    const token = await this.#nodes.token(node);
    const headers: http.OutgoingHttpHeaders = { accept };
    if (token) headers["authorization"] = `Bearer ${token}`;
    if (call.key !== undefined) headers["idempotency-key"] = call.key;
    if (call.condition?.ifMatch !== undefined) headers["if-match"] = call.condition.ifMatch;
    if (call.condition?.ifNone) headers["if-none-match"] = "*";
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      headers["content-length"] = Buffer.byteLength(body);
    } else if (method !== "GET") {
      headers["content-length"] = 0;
    }
    return new Promise((resolve, reject) => {
      const req = node.request({ ...node.to(path + queryOf(call.query)), method, headers, ...(signal ? { signal } : {}) });
      const most = patience + (call.waitMs ?? 0);
      let answered: http.IncomingMessage | undefined;
      const end = (err: Error) => void (answered ?? req).destroy(err);
      req.setTimeout(most, () => end(new Error(`nothing came for ${most / 1000} s`))); // of the connection: it begins anew with each byte
      this.#nodes.watch(node, req, end);
      let sent = false; // to a node: before there is a connection, nobody has the request
      req.on("socket", (socket) => {
        if (!socket.connecting) sent = true;
        else socket.once(node.url.protocol === "https:" ? "secureConnect" : "connect", () => (sent = true));
      });
      const broken = () => {
        if (!gone(signal)) leave();
      };
      req.on("error", (err) => {
        broken();
        reject(unreachable(node, err, sent && method !== "GET", signal));
      });
      req.on("response", (answer) => {
        this.#met = true;
        answered = answer.on("error", broken);
        if (codes[answer.statusCode!] !== "unavailable") node.failed = -Infinity;
        else {
          leave();
          if (this.#nodes.another(node)) delete answer.headers["retry-after"]; // which is this node's, and the next one is asked
        }
        resolve({ answer, node });
      });
      req.end(body);
    });
  }
}

/** Whether a request ended because its caller went away. One that has had its time may have waited for a node that answers nothing. */
const gone = (signal: AbortSignal | undefined): boolean =>
  signal?.aborted === true && !(signal.reason instanceof DOMException && signal.reason.name === "TimeoutError");

/** The error of a request that has no answer. done is whether what it asks for may have been done. */
function unreachable(node: Node, err: unknown, done: boolean, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (err instanceof RametError) return err;
  const text = err instanceof AggregateError ? lineOfAll(err) : err instanceof Error ? err.message : String(err);
  const next = done ? "nobody knows whether it was done; look before you do it again" : "is the node running?";
  return new RametError("unavailable", `no answer from ${node.url.origin} (${text}): ${next}`, { cause: err });
}

const lineOfAll = (err: AggregateError): string => err.errors.map((e: unknown) => (e instanceof Error ? e.message : String(e))).join(", ");

function queryOf(query: Call["query"]): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== "") q.set(name, String(value));
  }
  return q.size > 0 ? `?${q}` : "";
}

/** What a status stands for that came without a problem document, from a proxy, say. */
const codes: Record<number, Code> = {
  400: "invalid", 401: "unauthenticated", 403: "forbidden", 404: "not_found", 409: "conflict", 413: "limit", 422: "limit", 429: "exhausted",
  502: "unavailable", 503: "unavailable", 504: "unavailable",
};

/** How long a node may have its callers wait, in seconds. */
const maxRetryAfter = 30;

function refusal(answer: http.IncomingMessage, text: string, where: string): RametError {
  const status = answer.statusCode ?? 0;
  let err: RametError;
  try {
    const p = JSON.parse(text) as Problem;
    if (typeof p.code !== "string" || typeof p.detail !== "string") throw new SyntaxError("no problem document");
    err = RametError.of(p);
  } catch {
    err = new RametError(codes[status] ?? "internal", `${where} answered ${status} ${text.slice(0, 200)}`.trim());
  }
  err.retryAfter = retryAfter(answer.headers["retry-after"] ?? "", Date.now());
  return err;
}

/**
 * Reads a header Retry-After as RFC 9110 has it, in seconds: a whole number, or a date, which counts from now
 * (milliseconds since 1970). What is neither asks for no time.
 */
export function retryAfter(text: string, now: number): number {
  text = text.replace(/^[ \t]+|[ \t]+$/g, "");
  // Date.parse takes much that is no date of HTTP, and one without a zone as local: those of HTTP are of GMT.
  const date = /^[A-Z][a-z]+,? .*:\d\d( \d{4}| GMT)$/.test(text) ? text.replace(/( GMT)?$/, " GMT") : "";
  // It also takes days that do not exist for days of the next month, and 24:00 for the next day.
  const at = new Date(date);
  const day = /^[A-Z][a-z]+,? (?:[A-Z][a-z]+ )? ?(\d\d?)\b/.exec(date)?.[1];
  const seconds = /^[0-9]+$/.test(text) ? Number(text) : Number(day) === at.getUTCDate() ? (at.getTime() - now) / 1000 : 0;
  return seconds > 0 ? Math.min(seconds, maxRetryAfter) : 0;
}

/** Waits after a failure: longer after several, never as long as others do, and at least as long as the node said. */
export function pause(failures: number, signal?: AbortSignal, atLeast = 0): Promise<void> {
  const most = Math.min(200 << Math.min(failures, 10), 5_000);
  return sleep(Math.max(most * (0.5 + Math.random() / 2), atLeast * 1000), signal);
}

/** Waits so many milliseconds. It rejects with the signal's reason when that is aborted. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
