import { maxLineBytes, maxLogLines, type LogLine } from "./wire.js";

/** The longest a line waits before it is sent, in milliseconds. */
const every = 200;
/** Bounds what one request brings, in bytes of text; written as JSON it may be six times as much. */
const mostAtOnce = 1 << 20;
/** Bounds what an end brings, whose result needs room too. */
const mostAtEnd = 256 << 10;
/**
 * Bounds what waits here while it cannot be sent; the oldest lines are dropped, for the last say how it ended. Until they
 * are, there may be twice as many.
 */
const mostLines = 10 * maxLogLines;
/**
 * Bounds what these count, each line lineCost beside its text, as in a node. More a node would cut from the log anyway, and
 * then at its end, unless it was given more than the share of 1 MiB; some is left for what is said of missing lines.
 */
const mostBytes = 1020 << 10;
const lineCost = 64;

type Send = (lines: LogLine[]) => Promise<void>;

/** Gathers the lines that a job logs, and sends them now and then; what cannot be sent goes with the end. */
export class JobLog {
  readonly #send: Send | undefined;
  /** Those on their way are not among them. */
  #lines: LogLine[] = [];
  /** What these count. */
  #bytes = 0;
  /** How many were dropped just before them. */
  #missing = 0;
  /** How many lines there were so far. */
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;

  /** Without `send` all lines wait for the end. */
  constructor(send?: Send) {
    this.#send = send;
  }

  add(stream: "stdout" | "stderr", text: string): void {
    if (this.#closed) return;
    for (const whole of text.toWellFormed().split("\n")) {
      for (const line of cut(whole)) {
        this.#lines.push({ stream, line, n: ++this.#count }); // by its number a node knows one that it has written already
        this.#bytes += Buffer.byteLength(line) + lineCost;
      }
      // Now and then: each time moves what is kept.
      if (this.#lines.length >= 2 * mostLines || this.#bytes >= 2 * mostBytes) this.#drop();
    }
    this.#plan();
  }

  /** Ends the log: nothing is added, and nothing is sent any more but by sendFirst. */
  async shut(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    this.#drop();
  }

  /** Whether more lines wait than go with an end. */
  get overfull(): boolean {
    return this.#first() > 0;
  }

  /**
   * Sends the first lines, as many as one request brings, behind the mark of those that are missing before them. One call
   * at a time. Lines that could not be sent wait again.
   */
  async sendFirst(send: Send): Promise<void> {
    this.#drop();
    const missing = this.#missing;
    let n = 0;
    for (let room = mostAtOnce; n < Math.min(this.#lines.length, maxLogLines - Math.min(missing, 1)); n++) {
      room -= Buffer.byteLength(this.#lines[n]!.line);
      if (room < 0) break;
    }
    const lines = this.#take(n);
    this.#missing = 0;
    try {
      await send(marked(missing, lines));
    } catch (err) {
      if (this.#missing > 0) { // lines behind them were dropped meanwhile: these are older
        this.#missing += missing + n;
      } else {
        this.#missing = missing;
        this.#lines = [...lines, ...this.#lines];
        this.#bytes += bytesOf(lines);
      }
      throw err;
    }
  }

  /**
   * Ends the log and gives the lines that were not sent: where they are too many for the end of a job, the last of them,
   * behind a line that says how many are missing.
   */
  async close(): Promise<LogLine[]> {
    await this.shut();
    const first = this.#first();
    return marked(this.#missing + first, this.#lines.slice(first));
  }

  /** Whether there is nothing to wait for at the end. */
  get idle(): boolean {
    return this.#lines.length === 0 && this.#sending === undefined;
  }

  #plan(): void {
    if (!this.#send || this.#timer || this.#sending || this.#closed || this.#lines.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.sendFirst(this.#send!)
        .catch(() => {}) // they are sent again, or go with the end
        .finally(() => {
          this.#sending = undefined;
          this.#plan();
        });
    }, every);
  }

  /** Where the last lines begin: as many as go with an end, behind the mark of those that are missing before them. */
  #first(): number {
    const lines = this.#lines;
    const most = maxLogLines - Number(this.#missing > 0 || lines.length > maxLogLines);
    let first = lines.length;
    for (let room = mostAtEnd; first > Math.max(0, lines.length - most); first--) {
      room -= Buffer.byteLength(lines[first - 1]!.line);
      if (room < 0) break;
    }
    return first;
  }

  /** Drops the oldest lines where there are too many. */
  #drop(): void {
    let n = 0;
    for (let bytes = this.#bytes; this.#lines.length - n > mostLines || bytes > mostBytes; n++) bytes -= bytesOf([this.#lines[n]!]);
    if (n === 0) return;
    this.#take(n);
    this.#missing += n;
  }

  #take(n: number): LogLine[] {
    const lines = this.#lines.splice(0, n);
    this.#bytes -= bytesOf(lines);
    return lines;
  }
}

/** What lines count. */
const bytesOf = (lines: LogLine[]): number => lines.reduce((n, l) => n + Buffer.byteLength(l.line) + lineCost, 0);

/** Lines behind one that says how many are missing before them. */
const marked = (missing: number, lines: LogLine[]): LogLine[] => {
  if (missing === 0) return lines;
  const what = missing === 1 ? "1 line is missing here: it" : `${missing} lines are missing here: they`;
  const mark: LogLine = { stream: "stderr", line: `${what} could not be sent` };
  // It stands for those before.
  return [lines[0]?.n === undefined ? mark : { ...mark, n: lines[0].n - 1 }, ...lines];
};

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
