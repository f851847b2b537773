import { createHash, randomUUID } from "node:crypto";
import type { Answer, Decision, Request } from "./durable.js";
import type { Suspension, WorkerStepAnswer } from "./wire.js";

// This file has what a job remembers in a test, in place of a node: with the same rules, and with time that is skipped.

/** A call of a function, as it goes to a node. */
export interface TestCall {
  name: string;
  blueprint?: string;
  script?: string;
  params?: Record<string, string>;
}

type End = Record<string, string> | Error | undefined;

/** What comes to a job from others. */
export interface MemoryOptions {
  /** Signals that were sent and not waited for yet, by their names: payloads, the oldest first. */
  signals?: Record<string, unknown[]>;
  /** How jobs and flows end that the function calls: by a result or an error, by the call's name or said by a function. Others go on. */
  calls?: Record<string, Exclude<End, undefined>> | ((call: TestCall) => End);
  /** What a person has decided, by the approval's name. Of others nobody has. */
  approvals?: Record<string, Decision | boolean>;
  /** The prerequisites that are met. Default: each is. */
  prerequisites?: string[];
}

/** One thing that is remembered, or waited for. */
interface Place {
  readonly key: string;
  readonly verb: string;
  readonly name: string;
  readonly n: number;
  /** Once it is over. */
  answer?: Answer;
  tries: number;
  /** By the test's clock, in milliseconds. */
  until?: number;
  /** Whether other steps were being done: then which comes first says nothing. */
  beside: boolean;
}

/** What is waited for. */
type Waiting = { until?: number } & Partial<Record<"signals" | "prerequisites" | "children", string[]>>;

/** What takes no longer, in milliseconds, does not end the function. */
const short = 1000;
/** How much a job remembers at the most. */
const most = 10_000;

/**
 * What a job remembers, and what comes to it from others. Run again, a function goes on from where it was: so a test sees
 * what it does after a failure.
 */
export class Memory {
  readonly signals: Record<string, unknown[]>;
  calls: NonNullable<MemoryOptions["calls"]>;
  approvals: Record<string, Decision | boolean>;
  prerequisites: string[] | undefined;
  /** How often the function was called. */
  attempts = 0;
  /** @internal */
  readonly places = new Map<string, Place>();
  /** @internal */
  readonly versions = new Map<string, number>();
  #skipped = 0;

  constructor({ signals = {}, calls = {}, approvals = {}, prerequisites }: MemoryOptions = {}) {
    this.signals = signals;
    this.calls = calls;
    this.approvals = approvals;
    this.prerequisites = prerequisites;
  }

  /** The time of the job: the clock's, and all that was slept and waited. */
  get now(): Date {
    return new Date(this.ms());
  }

  /** What the job remembers, in order, such as "step charge", "sleep nap" and "wait click". */
  get steps(): string[] {
    return [...this.places.values()].map(({ verb, name }) => `${verb} ${name}`.trimEnd());
  }

  /** @internal */
  ms(): number {
    return Date.now() + this.#skipped;
  }

  /** @internal Has it be as late as that. */
  skip(until: number): void {
    this.#skipped += Math.max(0, until - this.ms());
  }
}

/** One call of a function, from its top. */
export class Attempt {
  /** When the job goes on that was suspended, if nothing comes. */
  until: number | undefined;
  readonly #of: Memory;
  readonly #counts = new Map<string, number>();
  readonly #asked = new Set<Place>();
  readonly #open = new Set<Place>();
  readonly #waiting = new Map<Place, Waiting>();
  #stopping = false;
  #moved: (() => void)[] = []; // told when a step is not being done any more

  constructor(memory: Memory) {
    this.#of = memory;
    // A step that was begun and not done is not remembered.
    for (const p of memory.places.values()) if (p.verb === "step" && !p.answer && p.tries === 0) memory.places.delete(p.key);
  }

  /** Answers a request as a node does. */
  async ask(asked: Request): Promise<WorkerStepAnswer> {
    const request = copied(asked);
    const places = this.#begin(request);
    if (!Array.isArray(places)) return { answer: places };
    for (;;) {
      const answer = this.#answer(request, places);
      if (answer) return copied(answer);
      await new Promise<void>((resolve) => this.#moved.push(resolve)); // a step that is being done beside it comes first
    }
  }

  /** The places that are asked for, or the answer of a node that refuses that. */
  #begin(request: Request): Place[] | Answer {
    const { do: verb } = request;
    const name = (request["name"] as string | undefined) ?? "";
    if (verb === "version") return this.#version(name, Number(request["n"]));
    if (verb === "done" || verb === "drop" || (verb === "step" && request["n"] !== undefined)) return [this.#place("step", name, Number(request["n"]))];
    const places: Place[] = [];
    for (const each of verb === "call" ? callsOf(request).map((call) => call.name) : [name]) {
      const n = (this.#counts.get(`${verb} ${each}`) ?? 0) + 1;
      this.#counts.set(`${verb} ${each}`, n);
      const drift = this.#drift(verb, each, n);
      if (drift) return refusal("drift", drift);
      places.push(this.#place(verb, each, n));
    }
    if (this.#of.places.size > most) return refusal("limit", `the history of the job has ${most} events, which is the limit`);
    return places;
  }

  #place(verb: string, name: string, n: number): Place {
    const key = `${verb} ${n} ${name}`;
    const place = this.#of.places.get(key) ?? { key, verb, name, n, tries: 0, beside: false };
    this.#of.places.set(key, place);
    this.#asked.add(place);
    for (const other of this.#open) if (other !== place) place.beside = other.beside = true;
    return place;
  }

  /** How what is asked for differs from what is remembered. */
  #drift(verb: string, name: string, n: number): string | undefined {
    const own = this.#of.places.get(`${verb} ${n} ${name}`);
    if (own && (this.#asked.has(own) || own.beside)) return undefined;
    for (const place of this.#of.places.values()) {
      if (place === own) return undefined;
      if (this.#asked.has(place) || place.beside) continue;
      return `it asks for ${named({ verb, name, n })} where its history has ${named(place)}: was the function changed?`;
    }
    return undefined;
  }

  #version(name: string, n: number): Answer {
    let known = this.#of.versions.get(name);
    if (known === undefined) {
      known = [...this.#of.places.values()].some((place) => !this.#asked.has(place)) ? 0 : n;
      this.#of.versions.set(name, known);
    }
    if (known > n) return refusal("conflict", `version "${name}": the job went on with version ${known}, the function knows up to ${n}`);
    return { done: true, value: known };
  }

  /** The answer, unless steps have to be done before. */
  #answer(request: Request, places: Place[]): WorkerStepAnswer | undefined {
    const place = places[0]!;
    switch (request.do) {
      case "done":
        return { answer: this.#done(request, place) };
      case "drop":
        this.#shut(place);
        return { answer: { done: true } };
      case "call":
        return this.#called(callsOf(request), places);
    }
    if (place.answer) return { answer: { ...place.answer, n: place.n } };
    if (request.do !== "step") return this.#wait(request, place);
    if (place.until !== undefined && !this.#isOver(place.until)) return this.#hold(place, { until: place.until });
    if (this.#stopping) return this.#suspended();
    this.#open.add(place);
    return { answer: { done: false, n: place.n, key: uuidOf(place.key), attempt: place.tries + 1 } };
  }

  #done(request: Request, place: Place): Answer {
    this.#shut(place);
    if (request["retry_after_ms"] !== undefined) {
      place.tries++;
      place.until = this.#of.ms() + Number(request["retry_after_ms"]);
      return { done: false, again: true };
    }
    const { value, failure } = request as Answer;
    place.answer = { done: true, ...(failure ? { failure } : { value }) };
    return { done: true };
  }

  #shut(place: Place): void {
    this.#open.delete(place);
    const told = this.#moved;
    this.#moved = [];
    for (const tell of told) tell();
  }

  /** Answers what takes time, and what is drawn. */
  #wait(request: Request, place: Place): WorkerStepAnswer | undefined {
    const now = this.#of.ms();
    const what: Waiting = {};
    if (request.do === "sleep") {
      place.until ??= Number(request["until_ms"] ?? now + Number(request["for_ms"]));
    } else if (request.do === "wait") {
      if (request["timeout_ms"] !== undefined) place.until ??= now + Number(request["timeout_ms"]);
      const came = this.#came(request, what);
      if (came) return this.#over(place, came);
    } else {
      return this.#over(place, { value: request.do === "now" ? now : request.do === "random" ? Math.random() : randomUUID() });
    }
    if (place.until !== undefined) {
      what.until = place.until;
      if (this.#isOver(place.until)) return this.#over(place, request.do === "sleep" ? {} : late(request));
    }
    return this.#hold(place, what);
  }

  #over(place: Place, came: Answer): WorkerStepAnswer {
    this.#waiting.delete(place);
    place.answer = { done: true, ...came };
    return { answer: place.answer };
  }

  /** What has come of what is waited for; in `what` goes what that is. */
  #came(request: Request, what: Waiting): Answer | undefined {
    const name = String(request["name"]);
    const { prerequisite, approval, signal = name } = request as { prerequisite?: string; approval?: object; signal?: string };
    if (prerequisite !== undefined) {
      what.prerequisites = [prerequisite];
      return this.#of.prerequisites?.includes(prerequisite) === false ? undefined : { value: true };
    }
    if (approval !== undefined) {
      what.children = [`approval ${name}`];
      const given = this.#of.approvals[name];
      return given === undefined ? undefined : { value: decisionOf(given) };
    }
    what.signals = [signal];
    const sent = this.#of.signals[signal] ?? [];
    return sent.length > 0 ? { value: sent.shift() ?? null } : undefined;
  }

  #called(calls: TestCall[], places: Place[]): WorkerStepAnswer | undefined {
    const { calls: ends } = this.#of;
    for (const [i, place] of places.entries()) {
      if (place.answer) continue;
      const end = typeof ends === "function" ? ends(calls[i]!) : ends[place.name];
      if (end) this.#over(place, end instanceof Error ? { failure: { text: end.message } } : { value: end });
    }
    const still = places.filter((place) => !place.answer);
    if (still.length > 0) return this.#hold(still[0]!, { children: still.map(({ name }) => `call ${name}`) });
    return { answer: { done: true, ends: places.map((place) => place.answer!) } };
  }

  /** Whether a time has come: what is short is skipped. */
  #isOver(until: number): boolean {
    if (!this.#stopping && until <= this.#of.ms() + short) this.#of.skip(until);
    return until <= this.#of.ms();
  }

  /** Ends the function for what it waits for, unless steps are being done: nothing comes while it runs. */
  #hold(place: Place, what: Waiting): WorkerStepAnswer | undefined {
    this.#waiting.set(place, what);
    return this.#open.size > 0 ? undefined : this.#suspended();
  }

  #suspended(): WorkerStepAnswer {
    this.#stopping = true;
    const [[{ verb, name, n }]] = [...this.#waiting] as [[Place, Waiting]];
    const waits = [...this.#waiting.values()];
    const untils = waits.flatMap(({ until }) => until ?? []);
    const suspension: Suspension = { kind: verb, name, n };
    if (untils.length > 0) suspension.until_ms = this.until = Math.min(...untils);
    for (const key of ["signals", "prerequisites", "children"] as const) {
      const names = [...new Set(waits.flatMap((what) => what[key] ?? []))].sort();
      if (names.length > 0) suspension[key] = names;
    }
    return { answer: { done: false, suspend: true }, suspension };
  }
}

/** What comes out behind JSON: what the function does with it changes nothing here. */
const copied = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const callsOf = (request: Request): TestCall[] => request["calls"] as TestCall[];

const refusal = (kind: string, text: string): Answer => ({ done: false, error: { kind, text } });

const named = ({ verb, name, n }: Pick<Place, "verb" | "name" | "n">): string => `${verb} "${name}"${n > 1 ? ` (number ${n})` : ""}`;

/** The same for a step each time, and of the form of a UUID. */
const uuidOf = (key: string): string =>
  createHash("sha256").update(key).digest("hex").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");

/** What becomes of a wait whose time is over. */
function late(request: Request): Answer {
  const { on_deadline: end } = (request["approval"] ?? {}) as { on_deadline?: string };
  if (end === "approve" || end === "reject") return { value: decisionOf(end === "approve") };
  return end === "fail" ? { failure: { text: "nobody has decided in time" } } : { timed_out: true };
}

const decisionOf = (given: Decision | boolean): Decision =>
  typeof given === "boolean" ? { approved: given, by: "", comment: "", answers: {} } : given;
