// Several nodes of one board: where one does not answer, another is asked.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Client, keyToken, type JobHandle, type JobRecord } from "ramet";
import { Node, promised, redis, work } from "./node.js";

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

const job = "job:1:1";
const well: Answer = (_, res) => void res.end(JSON.stringify({ jobs: [{ key: job }], status: "finished" }));
const cut: Answer = (req, res) => void res.writeHead(200, { "content-length": "100" }).write('{"jo', () => req.socket.destroy());
const busy: Answer = (_, res) => void res.writeHead(503, { "retry-after": "20" }).end();

/** Nodes that note what they are asked, each in its way; one without an answer is not there. */
class Board {
  asked: string[] = [];
  readonly urls: string[] = [];
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  async node(name: string, answer: Answer | undefined): Promise<void> {
    const server = createServer((req, res) => {
      if (req.url !== "/health") {
        this.asked.push(`${name} ${req.method}`);
        assert.equal(req.headers.authorization, `Bearer for-${name}`);
      }
      req.resume().on("end", () => answer!(req, res));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}#${name}`);
    const close = () => server.close().closeAllConnections();
    if (answer) this.#t.after(close);
    else close();
  }

  client(): Client {
    const client = new Client({ url: this.urls, context: 7, token: (name) => `for-${name}` });
    this.#t.after(() => client.close());
    return client;
  }

  want(...asked: string[]): void {
    assert.deepEqual(this.asked, asked);
    this.asked = [];
  }
}

for (const [what, first] of Object.entries({ "is cut off": cut, "has no time": busy, "is gone": undefined })) {
  test(`where a node ${what} the next is asked, for what may be done twice at once`, async (t) => {
    const b = new Board(t);
    await b.node("a", first);
    await b.node("b", well);
    const met = (method: string) => (first ? [`a ${method}`] : []);
    let client = b.client();
    await client.show(job); // at once: not after the 20 s of the first
    b.want(...met("GET"), "b GET");
    await client.cancel(job);
    b.want("b POST");
    client = b.client();
    await client.submit([{}], "k");
    b.want(...met("POST"), "b POST");
    client = b.client();
    await assert.rejects(client.cancel(job), { code: "unavailable" });
    b.want(...met("POST"));
    await client.cancel(job);
    b.want("b POST");
  });
}

test("it is said whether what got no answer may have been done", async (t) => {
  const b = new Board(t);
  const drop: Answer = (req) => void req.socket.destroy();
  let answer = cut;
  await b.node("a", (req, res) => answer(req, res));
  const client = b.client();
  for (answer of [cut, drop]) await assert.rejects(client.cancel(job), { code: "unavailable", message: /: nobody knows whether it was done; look before / });
  answer = well;
  await client.cancel(job);
  answer = drop; // on the connection of the one before
  await assert.rejects(client.cancel(job), { code: "unavailable", message: /: nobody knows whether it was done; look before / });
  const away = new Board(t);
  await away.node("a", undefined);
  await assert.rejects(away.client().cancel(job), { code: "unavailable", message: /: is the node running\?$/ });
  const reads = new Client({ url: b.urls, context: 7, token: "for-a" }); // and has never had an answer: else it asks for half a minute
  t.after(() => reads.close());
  await assert.rejects(reads.show(job), { code: "unavailable", message: /: is the node running\?$/ });
});

test("when all nodes want to be left alone, that is waited for", async (t) => {
  const b = new Board(t);
  await b.node("a", busy);
  await b.node("b", busy);
  const rests: number[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", ((f: () => void, ms: number) => (rests.push(ms), real(f, 0))) as typeof setTimeout);
  await assert.rejects(b.client().show(job), { code: "unavailable" });
  const [first, ...rest] = rests.filter((ms) => ms !== 3_000); // that is for connections
  assert(first! < 1_000 && rest.length > 0 && rest.every((ms) => ms >= 20_000), String(rests));
});

test("a caller that goes away leaves the node, one that has had its time does not", async (t) => {
  const b = new Board(t);
  const came = promised<void>();
  let answer: Answer = () => came.resolve();
  await b.node("a", (req, res) => answer(req, res));
  await b.node("b", well);
  const client = b.client();
  const gone = new AbortController();
  const asked = client.cancel(job, gone.signal);
  await came.promise;
  gone.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
  answer = well;
  await client.cancel(job);
  b.want("a POST", "a POST");
  answer = () => {};
  await assert.rejects(client.cancel(job, AbortSignal.timeout(100)), { name: "TimeoutError" });
  await client.cancel(job);
  b.want("a POST", "b POST");
});

test("addresses are a list, or have commas between them", async (t) => {
  const b = new Board(t);
  await b.node("a", undefined);
  await b.node("b", well);
  const client = new Client({ url: b.urls.join(" , "), context: 7, token: (name) => `for-${name}` });
  t.after(() => client.close());
  await client.show(job);
  b.want("b GET");
  for (const url of ["", "http://a,", "http://a,nora", [], ["http://a", "nora"], "http://a,http://me:secret@b"]) {
    assert.throws(() => new Client({ url, context: 7, token: "" }), { code: "invalid", message: /^url: want (?!.*secret)/ }, String(url));
  }
});

/** Time that passes when it is told to: what looks after requests is called then, and deadlines are over when they are said to be. */
function clockOf(t: TestContext) {
  let ahead = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + ahead);
  const clock = { pass: (ms: number) => void (ahead += ms), look: () => {}, over: () => {} };
  const real = globalThis.setInterval;
  t.mock.method(globalThis, "setInterval", ((f: () => void, ms: number) => ((clock.look = f), real(f, ms))) as typeof setInterval);
  t.mock.method(AbortSignal, "timeout", () => {
    const late = new AbortController();
    clock.over = () => late.abort(new DOMException("late", "TimeoutError"));
    return late.signal;
  });
  return clock;
}

test("a node that takes requests and does nothing any more is left while one waits", async (t) => {
  const clock = clockOf(t);
  const b = new Board(t);
  const came = promised<void>();
  const asked = promised<void>();
  await b.node("a", (req) => (req.url === "/health" ? asked.resolve() : came.resolve()));
  await b.node("b", well);
  const client = b.client();
  const claimed = client.claim("w", { types: ["x"] });
  await came.promise;
  clock.pass(4_000);
  clock.look(); // it may take so long
  clock.pass(2_000);
  clock.look();
  await asked.promise;
  clock.over();
  await assert.rejects(claimed, { code: "unavailable", message: /has not answered GET \/health for 10 s/ });
  b.want("a POST");
  await client.cancel(job);
  b.want("b POST");
});

test("a node that works is not left, however long it takes", async (t) => {
  const clock = clockOf(t);
  const b = new Board(t);
  const came = promised<ServerResponse>();
  let asked = 0;
  await b.node("a", (req, res) => {
    if (req.url !== "/health") return came.resolve(res);
    asked++;
    res.writeHead(503).end("it has much to do"); // and says so
  });
  await b.node("b", undefined);
  const done = b.client().cancel(job);
  const res = await came.promise;
  while (asked < 2) {
    clock.pass(6_000);
    clock.look();
    await new Promise(setImmediate);
  }
  res.end("{}");
  await done;
});

/** The result of a job that has ended. */
const result = async (handle: JobHandle): Promise<JobRecord["result"]> => (await handle.wait()).result;

for (const [how, away, back] of [
  ["was killed", (node: Node) => node.kill(), () => {}],
  ["hangs", (node: Node) => node.hang(), (node: Node) => node.goOn()],
] as const) {
  test(`when the node in use ${how}, nothing is lost and nothing done twice: jobs, submits, a log, steps`, async (t) => {
    const board = await redis(t);
    if (!board) return;
    const nina = await Node.start(t, `board: ${board}\n`);
    const nora = await Node.start(t, `board: ${board}\n`, nina);
    const tokens = new Map([nina, nora].map((n) => [n.name, keyToken(nina.key, n.name)]));
    const app = nina.app({ url: [nina, nora].map((n) => `${n.url}#${n.name}`), token: (name) => tokens.get(name)!() });
    const may = promised<void>();
    const all = promised<void>();
    const runs = new Map<number, number>();
    const f = app.job("counted", { timeout: 300 }, async (n: number, job) => {
      runs.set(n, (runs.get(n) ?? 0) + 1);
      job.log("begun %d", n);
      if (runs.size === 8) all.resolve();
      await may.promise;
      const twice = await job.steps.step("double", () => 2 * n);
      job.log("done %d", n);
      return { twice };
    });
    const stop = work(t, app, { concurrency: 8 });
    const early = await f.submitMany([0, 1, 2, 3, 4, 5, 6, 7]);
    const waits = early.map(result);
    const logs = early[0]!.logs();
    const lines = [(await logs.next()).value];
    await all.promise; // all of them are in hand
    await away(nina);
    may.resolve();
    const late = await Promise.all(Array.from({ length: 24 }, (_, i) => f.submit(8 + i, { key: `late-${i}` })));
    const results = await Promise.all([...waits, ...late.map(result)]);
    assert.deepEqual(results, Array.from({ length: 32 }, (_, n) => ({ twice: String(2 * n) })));
    assert.deepEqual([...runs.values()], Array.from({ length: 32 }, () => 1));
    for await (const line of logs) lines.push(line);
    assert.deepEqual(lines.map((l) => (l as { line: string }).line), ["begun 0", "done 0"]);
    back(nina); // and does what it had been asked
    if (how === "hangs") await nina.app().client.show(early[0]!.key);
    let listed = 0;
    for await (const job of app.list({ type: "counted" })) listed += Number(job.status === "finished");
    assert.equal(listed, 32);
    await stop();
  });
}

test("a key signs for each node by its name", async (t) => {
  const board = await redis(t);
  if (!board) return;
  const nina = await Node.start(t, `board: ${board}\n`);
  const nora = await Node.start(t, `board: ${board}\n`, nina);
  const before = { ...process.env };
  t.after(() => (process.env = before));
  delete process.env["RAMET_TOKEN"];
  process.env["RAMET_KEY"] = join(nina.data, "operator.key");
  process.env["RAMET_NODE"] = `${nina.url}#nina,${nora.url}#nora`;
  const { App } = await import("ramet");
  const app = new App({ context: 1 });
  t.after(() => app.client.close());
  const handle = await app.submit("signed", 1, { key: "once" });
  await nina.kill();
  assert.equal((await app.submit("signed", 1, { key: "once" })).key, handle.key);
  process.env["RAMET_NODE"] = `${nina.url}#nina,${nora.url}`;
  assert.throws(() => new App({ context: 1 }), { code: "invalid", message: /name it/ });
});
