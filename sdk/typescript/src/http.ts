import * as http from "node:http";
import * as https from "node:https";
import { RametError, type Code } from "./errors.js";
import type { Problem } from "./wire.js";

// This file makes requests. It uses node:http rather than fetch, which costs about twice
// the processor time for each.

/** Bounds an answer, in bytes: a page of jobs whose scripts are large. */
const maxAnswer = 256 << 20;
/** How long a request may take beyond what it asks to wait. */
const patience = 30_000;
/** Bounds how often a request is made again: about half a minute, in which a node can be started anew. */
export const maxTries = 10;

/** Gives the token for a request; it is called for each, so it should remember. */
export type TokenSource = string | (() => string | Promise<string>);

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
  readonly #base: URL;
  readonly #token: TokenSource;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  /** Whether the node has ever answered: one that never has is not waited for. */
  #met = false;

  constructor(base: string, token: TokenSource) {
    this.#base = parseBase(base);
    this.#token = token;
    const secure = this.#base.protocol === "https:";
    // Idle connections are let go before the node does that, which is after two minutes.
    const how = { keepAlive: true, timeout: 60_000, scheduling: "lifo" } as const;
    this.#agent = secure ? new https.Agent(how) : new http.Agent(how);
    this.#request = secure ? https.request : http.request;
  }

  /** Lets go of idle connections. */
  close(): void {
    this.#agent.destroy();
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
        const { text, tag } = await this.#text(method, path, call);
        return { value: (text === "" ? undefined : JSON.parse(text)) as T, tag };
      } catch (err) {
        if (err instanceof SyntaxError) {
          throw new RametError("internal", `${method} ${path}: the answer is no JSON: is ${this.#base.origin} a Ramet node?`, { cause: err });
        }
        if (!again || tries >= maxTries || !this.mayTryAgain(err)) throw err;
        await pause(tries, call.signal, (err as RametError).retryAfter);
      }
    }
  }

  /** Whether it makes sense to ask again after an error. */
  mayTryAgain(err: unknown): boolean {
    return this.#met && err instanceof RametError && (err.code === "unavailable" || err.code === "exhausted");
  }

  async #text(method: string, path: string, call: Call): Promise<{ text: string; tag: string }> {
    const answer = await this.open(method, path, "application/json", call);
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxAnswer) throw new RametError("limit", `the answer is longer than ${maxAnswer} bytes; ask for fewer at once`);
        chunks.push(chunk);
      }
    } catch (err) {
      throw this.#unreachable(err, call.signal);
    }
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
    if (answer.statusCode! < 200 || answer.statusCode! > 299) throw refusal(answer, text, this.#base.origin);
    return { text, tag: answer.headers.etag ?? "" };
  }

  /** Makes a request and returns its answer, whose body is still to be read, whatever its status. */
  async open(method: string, path: string, accept: string, call: Call = {}): Promise<http.IncomingMessage> {
    call.signal?.throwIfAborted();
    const token = typeof this.#token === "string" ? this.#token : await this.#token();
    const headers: http.OutgoingHttpHeaders = { accept };
    if (token) headers["authorization"] = `Bearer ${token}`;
    if (call.key !== undefined) headers["idempotency-key"] = call.key;
    if (call.condition?.ifMatch !== undefined) headers["if-match"] = call.condition.ifMatch;
    if (call.condition?.ifNone) headers["if-none-match"] = "*";
    if (call.body !== undefined) {
      headers["content-type"] = "application/json";
      headers["content-length"] = Buffer.byteLength(call.body);
    } else if (method !== "GET") {
      headers["content-length"] = 0;
    }
    const base = this.#base;
    return new Promise((resolve, reject) => {
      const req = this.#request({
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[|\]$/g, ""),
        port: base.port,
        path: base.pathname.replace(/\/$/, "") + path + queryOf(call.query),
        method,
        headers,
        agent: this.#agent,
        ...(call.signal ? { signal: call.signal } : {}),
      });
      const most = patience + (call.waitMs ?? 0);
      const late = () => req.destroy(new Error(`nothing came for ${most / 1000} s`));
      req.setTimeout(most, late); // of the connection: it begins anew with each byte
      req.on("error", (err) => reject(this.#unreachable(err, call.signal)));
      req.on("response", (answer) => {
        this.#met = true;
        resolve(answer);
      });
      req.end(call.body);
    });
  }

  /** An answer that was opened is one of success, or its problem is thrown. */
  async expect(answer: http.IncomingMessage): Promise<void> {
    if (answer.statusCode === 200) return;
    let text = "";
    for await (const chunk of answer) text += String(chunk);
    throw refusal(answer, text, this.#base.origin);
  }

  #unreachable(err: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (err instanceof RametError) return err;
    const text = err instanceof AggregateError ? lineOfAll(err) : err instanceof Error ? err.message : String(err);
    return new RametError("unavailable", `no answer from ${this.#base.origin} (${text}): is the node running?`, { cause: err });
  }
}

const lineOfAll = (err: AggregateError): string => err.errors.map((e: unknown) => (e instanceof Error ? e.message : String(e))).join(", ");

function parseBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.search || url.username || url.password) {
    throw new RametError("invalid", "url: want an address such as http://localhost:7480");
  }
  return url;
}

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
