import { hostname } from "node:os";
import type { Client, Held } from "./client.js";
import { JobStopped, RametError, type Why } from "./errors.js";
import { pause } from "./http.js";
import { Job } from "./job.js";
import { JobLog } from "./log.js";
import { Memory } from "./memory.js";
import { perform, type Handler } from "./perform.js";
import { maxAssignments, type Assignment, type AttemptEnd, type FinishedJob, type HeldAttempt, type LogLine, type WorkerAsk } from "./wire.js";

// This file has the life of a worker: it claims jobs, runs them, renews their leases, and
// hands in how they ended. A job goes from held (its function runs) over ends (it is to be
// handed in) to gone. Leases are counted by a clock that nobody sets (performance.now),
// from when the claim or the renewal was asked: always earlier than the node counts.

/**
 * How long a node is to wait for the first job, in milliseconds: at most a third of the lease, which is counted from when
 * the claim was asked, so that a job that comes late has most of it left.
 */
const claimWait = (leaseMs: number): number => Math.min(20_000, Math.floor(leaseMs / 3));
/** How long before its end a lease is given up, in milliseconds: a heartbeat, and one call of it. */
const margin = (leaseMs: number): number => leaseMs / 6 + leaseMs / 20;
/** How many requests hand in ends: while one waits for its answer, the other gathers the next. */
const finishers = 2;
/** How long the answer to the last request may take, in milliseconds. */
const leaveMs = 2000;
/** Bounds one such request, in bytes; a node takes 8 MiB. */
const endRoom = 4 << 20;
/** How many ends may wait to be handed in before no more jobs are claimed. */
const maxEnds = 2 * maxAssignments;

/** Takes what a person running the worker should know. `console` is one. */
export interface Logger {
  info(message: string, facts?: object): void;
  warn(message: string, facts?: object): void;
}

/** What a worker is. */
export interface Worker {
  client: Client;
  /** Tells this life of the program from others. */
  name: string;
  handlers: ReadonlyMap<string, Handler>;
  /** How many functions run at once. */
  concurrency: number;
  /** In milliseconds: how long a job stays with a worker that is not heard of. */
  leaseMs: number;
  /** In milliseconds: how long functions may go on when the worker is told to stop. */
  graceMs: number;
  labels: Record<string, string>;
  version: string;
  logger: Logger;
}

/** A job in hand, until its end is written or its lease is lost. */
interface Run {
  readonly held: Held;
  readonly job: Job;
  readonly log: JobLog;
  readonly controller: AbortController;
  /** When the lease runs out. */
  until: number;
  /** Whether its function has not ended, or more of its log is to be sent than goes with its end. */
  running: boolean;
  /** Another may have the job: the end of its function is not ours to tell. */
  lost: boolean;
}

/** What came of a run, as JSON too. */
interface End {
  readonly run: Run;
  text: string;
  /** Set once its end was replaced because the node did not take what was in it. */
  replaced: boolean;
}

const now = (): number => performance.now();

/** One call of App.run. */
export class Shift {
  readonly #w: Worker;
  readonly #held = new Set<Run>();
  readonly #ends: End[] = [];
  #running = 0; // functions
  #finishing = 0; // requests that hand in ends
  #beating = false;
  #lastBeat = now();
  readonly #watchers = new Set<() => void>();
  #changing: NodeJS.Immediate | undefined;

  constructor(worker: Worker) {
    this.#w = worker;
  }

  /**
   * Claims jobs and runs them until the signal is aborted; then it claims no more, lets functions go on for the grace
   * time, tells them to stop, hands in what came of them, and returns.
   */
  async run(signal: AbortSignal): Promise<void> {
    const beats = setInterval(() => void this.#beat(), this.#w.leaseMs / 6);
    const end = new AbortController();
    const listening = this.#listen(end.signal);
    try {
      await this.#claimLoop(signal);
    } finally {
      await this.#drain();
      clearInterval(beats);
      end.abort();
      await listening;
      // So that nobody takes it for one that is lost. Where no node hears it, it is listed some minutes more.
      await this.#w.client.leave(this.#w.name, AbortSignal.timeout(leaveMs)).catch(() => {});
    }
  }

  async #claimLoop(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      await this.#until(() => this.#room() > 0, Infinity, signal);
      if (signal.aborted) return;
      const asked = now();
      try {
        const list = await this.#w.client.claim(this.#w.name, this.#ask(), signal);
        failures = 0;
        for (const a of list) this.#start(a, asked);
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof RametError && err.code === "invalid") throw err; // asked again it would be so again
        this.#w.logger.warn("no work taken", { err });
        const least = err instanceof RametError ? err.retryAfter : 0;
        await pause(failures++, signal, least).catch(() => {}); // the signal ends the loop
      }
    }
  }

  /** How many jobs there is room for. */
  #room(): number {
    return Math.min(this.#w.concurrency - this.#running, maxEnds - this.#ends.length, maxAssignments);
  }

  #ask(): WorkerAsk {
    const { handlers, leaseMs, labels, concurrency, version } = this.#w;
    return {
      types: [...handlers.keys()], max: this.#room(), wait_ms: claimWait(leaseMs), lease_ms: leaseMs, labels,
      slots: concurrency, running: this.#held.size, host: hostname().slice(0, 200), version,
    };
  }

  /** Runs a job that was claimed by a request of that instant. */
  #start(a: Assignment, asked: number): void {
    const held: HeldAttempt = { caller: a.job.caller_id, id: a.job.id, attempt: a.attempt };
    if (a.job.started_ms !== undefined) held.started_ms = a.job.started_ms;
    const controller = new AbortController();
    const log = new JobLog((lines) => this.#w.client.log(this.#w.name, held, lines, AbortSignal.timeout(this.#w.leaseMs)));
    const memory = new Memory((ask) => this.#w.client.step(this.#w.name, { ...held, ...ask }, controller.signal), controller.signal);
    const run = { held, controller, log, job: new Job(a, controller, log, memory), until: asked + a.lease_ms, running: true, lost: false };
    this.#held.add(run);
    this.#running++;
    this.#changed();
    void this.#do(run, a.timeout_ms);
  }

  async #do(run: Run, timeoutMs: number): Promise<void> {
    if (run.until - now() <= margin(this.#w.leaseMs)) {
      // This process was held up (stopped by a signal, or by the function before) since it had asked for the job: another
      // worker may have it by now, and the heartbeat, held up too, is too late to say so.
      lose(run);
      this.#drop(run);
      return;
    }
    const timer = timeoutMs > 0 ? setTimeout(() => stop(run, "timeout"), Math.min(timeoutMs, 2 ** 31 - 1)) : undefined;
    const { thrown: _, ...outcome } = await perform(this.#w.handlers.get(run.job.record.script_type) ?? noFunction, run.job);
    clearTimeout(timer);
    const lines = run.log.idle ? [] : await this.#lastLines(run);
    if (run.lost) {
      this.#drop(run);
      return;
    }
    run.running = false;
    this.#running--;
    this.#handIn(run, { ...run.held, ...outcome, ...(lines.length > 0 ? { lines } : {}) });
  }

  /**
   * Ends the log of a function that has ended: sends what is more than goes with its end, and gives the rest. A node that
   * takes nothing holds up no end for ever: it has half of what is left of the lease now, however often that is renewed, and
   * the end has the rest.
   */
  async #lastLines(run: Run): Promise<LogLine[]> {
    const until = Math.min((now() + run.until) / 2, run.until - margin(this.#w.leaseMs));
    await run.log.shut();
    for (let failures = 0; run.log.overfull && !run.lost; ) {
      const left = Math.floor(until - now());
      if (left <= 0) break;
      try {
        await run.log.sendFirst((lines) => this.#w.client.log(this.#w.name, run.held, lines, AbortSignal.timeout(left)));
        failures = 0;
      } catch (err) {
        if (err instanceof RametError && (refusals.has(err.code) || gone.has(err.code))) break;
        await pause(failures++, undefined, err instanceof RametError ? Math.min(err.retryAfter, (until - now()) / 2000) : 0);
      }
    }
    return run.log.close();
  }

  #handIn(run: Run, end: AttemptEnd): void {
    this.#ends.push({ run, text: JSON.stringify(end), replaced: false });
    this.#changed();
  }

  /**
   * Gives a job up whose lease is lost: how it ended is not ours to tell. It goes back at once where the lease is its own
   * still, so that nobody waits for that to run out.
   */
  #drop(run: Run): void {
    run.running = false;
    this.#running--;
    void run.log.close();
    this.#w.logger.warn("a job was dropped: its lease was lost", { job: run.job.key, attempt: run.held.attempt });
    if (now() < run.until) this.#handIn(run, { ...run.held, verdict: "lost" });
    else this.#letGo(run);
  }

  #letGo(run: Run): void {
    this.#held.delete(run);
    this.#changed();
  }

  /** Hands in ends, as many as are there, by a few requests at once. */
  #pump(): void {
    while (this.#finishing < finishers && this.#ends.length > 0) {
      let n = 0;
      for (let room = endRoom; n < Math.min(this.#ends.length, maxAssignments); n++) {
        room -= Buffer.byteLength(this.#ends[n]!.text);
        if (room < 0 && n > 0) break;
      }
      this.#finishing++;
      void this.#finish(this.#ends.splice(0, n)).finally(() => {
        this.#finishing--;
        this.#changed();
      });
    }
  }

  /** Hands in ends until each is written, or its lease is lost. An end that was told before is no error. */
  async #finish(group: End[]): Promise<void> {
    for (let failures = 0; group.length > 0; failures++) {
      let answers: FinishedJob[] = [];
      let failure: unknown;
      try {
        answers = await this.#w.client.finish(this.#w.name, group.map((e) => e.text), AbortSignal.timeout(this.#w.leaseMs));
      } catch (err) {
        failure = err;
      }
      if (refused(failure)) {
        // What is wrong with one has the whole request refused: by halves, that one is found.
        if (group.length > 1) {
          const half = group.length >> 1;
          await this.#finish(group.slice(0, half));
          return this.#finish(group.slice(half));
        }
        answers = [{ status: "", problem: { title: "", status: 400, detail: failure.message, code: failure.code } }];
        failure = undefined;
      }
      group = group.filter((end, i) => !this.#settled(end, answers[i]) && !this.#tooLate(end));
      if (group.length === 0) return;
      if (failure) this.#w.logger.warn("ends of jobs not handed in; they are tried again", { jobs: group.length, err: failure });
      // As the node asks, but not for so long that leases run out meanwhile.
      const left = Math.min(...group.map((end) => end.run.until)) - now();
      await pause(failures, undefined, failure instanceof RametError ? Math.min(failure.retryAfter, left / 2000) : 0);
    }
  }

  /**
   * Lets a job go whose end is written, or never will be. One that the node refuses for what is in it becomes a failure
   * that says so.
   */
  #settled(end: End, answer: FinishedJob | undefined): boolean {
    if (!answer) return false;
    const { run } = end;
    const p = answer.problem;
    if (p && refusals.has(p.code) && !end.replaced) {
      end.replaced = true;
      end.text = JSON.stringify({ ...run.held, verdict: "failed", final: true, error: `its end was not taken: ${p.detail}` } satisfies AttemptEnd);
      return false;
    }
    if (p && !refusals.has(p.code) && !gone.has(p.code)) return false;
    if (p) this.#w.logger.warn("the end of a job was not taken", { job: run.job.key, attempt: run.held.attempt, err: RametError.of(p) });
    this.#letGo(run);
    return true;
  }

  #tooLate({ run }: End): boolean {
    if (now() < run.until) return false;
    this.#w.logger.warn("the end of a job could not be handed in before its lease ran out", { job: run.job.key, attempt: run.held.attempt });
    this.#letGo(run);
    return true;
  }

  /**
   * Renews the leases that have less than two thirds of their time left, and stops what could not be renewed while there is
   * still some time left. A process that was held up asks first: who has the job still may go on.
   */
  async #beat(): Promise<void> {
    const { leaseMs, logger } = this.#w;
    const late = now() - this.#lastBeat - leaseMs / 6;
    this.#lastBeat = now();
    if (late > leaseMs / 6) {
      const text = "a function kept this process from doing anything else; leases are lost that way: run it in a worker thread";
      logger.warn(text, { ms: Math.round(late) });
    }
    if (this.#beating) return; // the one before has not been answered
    this.#beating = true;
    const due = this.#below((leaseMs * 2) / 3);
    const parts: Promise<void>[] = [];
    for (let i = 0; i < due.length; i += maxAssignments) parts.push(this.#extend(due.slice(i, i + maxAssignments)));
    await Promise.all(parts);
    for (const run of this.#below(margin(leaseMs))) {
      if (run.running) lose(run);
    }
    this.#beating = false;
  }

  /** The jobs in hand whose leases have no more left than that. */
  #below(left: number): Run[] {
    return [...this.#held].filter((run) => !run.lost && run.until - now() <= left);
  }

  /**
   * Hears at once which jobs are to stop: it asks for those in hand again and again, by requests that wait for that, each a
   * bit shorter than a beat. So the heartbeat finds nothing due, but where these are not answered.
   */
  async #listen(signal: AbortSignal): Promise<void> {
    const going = () => [...this.#held].filter((run) => run.running && !run.controller.signal.aborted);
    for (let failures = 0; !signal.aborted; ) {
      await this.#until(() => going().length > 0, Infinity, signal);
      const runs = going();
      try {
        for (let i = 0; i < runs.length && !signal.aborted; i += maxAssignments) {
          const last = i + maxAssignments >= runs.length;
          await this.#renew(runs.slice(i, i + maxAssignments), last ? Math.min(20_000, Math.round(this.#w.leaseMs / 7)) : 0, signal);
        }
        failures = 0;
      } catch (err) {
        // What is not heard comes with the renewals.
        await pause(failures++, signal, err instanceof RametError ? err.retryAfter : 0).catch(() => {}); // the signal ends the loop
      }
    }
  }

  /** A renewal is not made again by itself: the next beat does that. */
  async #extend(runs: Run[]): Promise<void> {
    try {
      await this.#renew(runs, 0);
    } catch (err) {
      this.#w.logger.warn("leases not renewed", { jobs: runs.length, err });
    }
  }

  /** Renews leases, and stops what is to stop; it waits for the first such. */
  async #renew(runs: Run[], waitMs: number, signal?: AbortSignal): Promise<void> {
    const { leaseMs } = this.#w;
    const asked = now();
    // Bounded, so that a node that hangs does not hide that leases run out: time is left to stop what has least.
    const left = Math.min(...runs.map((run) => run.until)) - asked;
    const most = AbortSignal.timeout(Math.round(waitMs + Math.min(leaseMs / 6, Math.max(left / 2, leaseMs / 20))));
    const ask = { lease_ms: leaseMs, jobs: runs.map((run) => run.held), ...(waitMs > 0 ? { wait_ms: waitMs } : {}) };
    const states = await this.#w.client.extend(this.#w.name, ask, signal ? AbortSignal.any([signal, most]) : most);
    runs.forEach((run, i) => {
      const state = states[i];
      if (state === "lost") {
        if (run.running) lose(run); // else the answer to its end says what became of it
        return;
      }
      if (state === "cancelled" || state === "timeout") stop(run, state as Why);
      if (state !== undefined) run.until = Math.max(run.until, asked + leaseMs); // answers may overtake each other
    });
  }

  /** Waits for the functions in hand, and tells them to stop when they have had their time. */
  async #drain(): Promise<void> {
    const done = () => this.#held.size === 0;
    if (await this.#until(done, this.#w.graceMs)) return;
    for (const run of this.#held) stop(run, "stopping");
    if (await this.#until(done, this.#w.leaseMs)) return;
    const jobs = [...this.#held].map((run) => run.job.key);
    this.#w.logger.warn("functions do not stop though they were told to; they are left behind", { jobs });
  }

  /** Notes that something has changed. What happens in one turn of the event loop is looked at together. */
  #changed(): void {
    this.#changing ??= setImmediate(() => {
      this.#changing = undefined;
      this.#pump();
      for (const watch of [...this.#watchers]) watch();
    });
  }

  /** Waits until something is so: false when it is not after that time, or when the signal was aborted. */
  #until(so: () => boolean, ms: number, signal?: AbortSignal): Promise<boolean> {
    if (so()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (came: boolean) => {
        clearTimeout(timer);
        this.#watchers.delete(watch);
        signal?.removeEventListener("abort", stop);
        resolve(came);
      };
      const watch = () => so() && end(true);
      const stop = () => end(false);
      const timer = ms === Infinity ? undefined : setTimeout(stop, ms);
      this.#watchers.add(watch);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}

/** Refused for what is in it. */
const refusals: ReadonlySet<string> = new Set(["invalid", "limit"]);
/** Refused because the job is not this worker's any more, or is nobody's. */
const gone: ReadonlySet<string> = new Set(["conflict", "not_found", "forbidden"]);

const refused = (err: unknown): err is RametError => err instanceof RametError && refusals.has(err.code);

const noFunction: Handler = (job) => {
  throw new RametError("invalid", `this worker has no function for the type ${JSON.stringify(job.record.script_type)}`);
};

function stop(run: Run, why: Why): void {
  if (!run.controller.signal.aborted) run.controller.abort(new JobStopped(why));
}

function lose(run: Run): void {
  run.lost = true;
  stop(run, "lost");
}
