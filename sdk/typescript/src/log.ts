import { maxLineBytes, maxLogLines, type LogLine } from "./wire.js";

/** The longest a line waits before it is sent, in milliseconds. */
const every = 200;
/** Bounds what one request brings, in bytes of text; written as JSON it may be six times as much. */
const mostAtOnce = 1 << 20;
/** Bounds what an end brings, whose result needs room too. */
const mostAtEnd = 256 << 10;
/** Bounds what waits here while it cannot be sent. */
const mostLines = 10 * maxLogLines;

/** Gathers the lines that a job logs, and sends them now and then; what cannot be sent goes with the end. */
export class JobLog {
  readonly #send: ((lines: LogLine[]) => Promise<void>) | undefined;
  #lines: LogLine[] = [];
  /** How many older ones than those were dropped: they came before them. */
  #missing = 0;
  /** How many of the first lines are on their way: they stay until it is known what became of them. */
  #away = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;

  /** Without `send` all lines wait for the end. */
  constructor(send?: (lines: LogLine[]) => Promise<void>) {
    this.#send = send;
  }

  add(stream: "stdout" | "stderr", text: string): void {
    if (this.#closed) return;
    for (const whole of text.toWellFormed().split("\n")) {
      for (const line of cut(whole)) this.#lines.push({ stream, line });
      if (this.#lines.length >= 2 * mostLines) this.#drop(); // now and then: each time moves what is kept
    }
    this.#drop();
    this.#plan();
  }

  /** Ends the log and gives the lines that were not sent. */
  async close(): Promise<LogLine[]> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    const lines = this.#lines;
    let first = Math.max(0, lines.length - maxLogLines + 1);
    for (let room = mostAtEnd, i = lines.length - 1; i >= first; i--) {
      room -= Buffer.byteLength(lines[i]!.line);
      if (room < 0) first = i + 1;
    }
    const missing = this.#missing + first;
    return missing > 0 ? [gap(missing), ...lines.slice(first)] : lines;
  }

  /** Whether there is nothing to wait for at the end. */
  get idle(): boolean {
    return this.#lines.length === 0 && this.#sending === undefined;
  }

  #plan(): void {
    if (!this.#send || this.#timer || this.#sending || this.#closed || this.#lines.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#flush(this.#send!).finally(() => {
        this.#sending = undefined;
        this.#plan();
      });
    }, every);
  }

  /** Drops the oldest lines where there are too many: the last ones say how it ended. */
  #drop(): void {
    const n = this.#lines.length - this.#away - mostLines;
    if (n <= 0) return;
    this.#lines.splice(this.#away, n);
    this.#missing += n;
  }

  async #flush(send: (lines: LogLine[]) => Promise<void>): Promise<void> {
    const missing = this.#missing;
    let n = 0;
    for (let room = mostAtOnce; n < Math.min(this.#lines.length, maxLogLines - 1); n++) {
      room -= Buffer.byteLength(this.#lines[n]!.line);
      if (room < 0) break;
    }
    const lines = this.#lines.slice(0, n);
    if (missing > 0) lines.unshift(gap(missing));
    this.#away = n;
    try {
      await send(lines);
    } catch {
      if (this.#missing > missing) { // lines behind them were dropped: these are older
        this.#lines.splice(0, n);
        this.#missing += n;
      }
      return; // they are sent again, or go with the end
    } finally {
      this.#away = 0;
    }
    this.#lines.splice(0, n);
    this.#missing -= missing;
  }
}

const gap = (n: number): LogLine => ({ stream: "stderr", line: `${n} lines are missing here: they could not be sent` });

/** Cuts a line that is too long into several. */
function* cut(line: string): Generator<string> {
  if (line.length * 3 <= maxLineBytes) return yield line; // UTF-8 has at most three bytes for each unit of UTF-16
  const bytes = Buffer.from(line);
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + maxLineBytes, bytes.length);
    while (to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to--; // not within a letter
    yield bytes.toString("utf8", from, to);
    from = to;
  }
}
