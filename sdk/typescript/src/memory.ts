import { ChannelError, Steps, type Answer, type Request } from "./durable.js";
import { Fail, RametError } from "./errors.js";
import { pause } from "./http.js";
import type { Suspension, WorkerStep, WorkerStepAnswer } from "./wire.js";

// A node knows how far a function has come by the number of requests that it had answered. Where it does not (another was
// asked before, or it was started anew), it is told of all of them, and comes as far by what it has on its board.

/** Thrown to end a function whose job sleeps or waits; it is called again when that is over. Let it pass. */
export class Suspended extends Error {
  override readonly name = "Suspended";

  constructor() {
    super("the job waits, and goes on later");
  }
}

type Ask = Pick<WorkerStep, "request" | "asked" | "before">;

/** What a job in hand has asked for. */
export class Memory {
  /** The functions of this module, for one job. */
  readonly steps: Steps;
  /** What the job waits for, where its function was told to end for that. */
  suspension: Suspension | undefined;
  readonly #send: (ask: Ask) => Promise<WorkerStepAnswer>;
  readonly #signal: AbortSignal;
  readonly #asked: Request[] = []; // those that count and were answered
  #turn: Promise<unknown> = Promise.resolve(); // of these: they are asked one after the other

  constructor(send: (ask: Ask) => Promise<WorkerStepAnswer>, signal: AbortSignal) {
    this.#send = send;
    this.#signal = signal;
    this.steps = new Steps((request) => this.#ask(request));
  }

  #ask(request: Request): Promise<Answer> {
    if (!counts(request)) return this.#answer(request);
    const answer = this.#turn.then(async () => {
      const answer = await this.#answer(request);
      this.#asked.push(request);
      return answer;
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #answer(request: Request): Promise<Answer> {
    let before: Request[] | undefined;
    for (let failures = 0; ; ) {
      try {
        const got = await this.#send({ request, asked: this.#asked.length, ...(before ? { before } : {}) });
        if (!got.unknown) return this.#take(got);
        before = [...this.#asked];
      } catch (err) {
        if (!(err instanceof RametError) || (err.code !== "unavailable" && err.code !== "exhausted")) throw err;
        await pause(failures++, this.#signal);
      }
    }
  }

  #take(got: WorkerStepAnswer): Answer {
    const answer = got.answer as Answer;
    if (answer.error?.kind === "drift") throw new Fail(answer.error.text); // it would be so each time
    if (answer.error?.kind === "lost") throw new RametError("conflict", answer.error.text);
    if (answer.error) throw new ChannelError(answer.error.kind, answer.error.text);
    if (answer.suspend) {
      this.suspension = got.suspension;
      throw new Suspended();
    }
    return answer;
  }
}

/** Whether a node counts a request. */
const counts = (request: Request): boolean =>
  request.do !== "done" && request.do !== "drop" && !(request.do === "step" && request["n"] !== undefined);
