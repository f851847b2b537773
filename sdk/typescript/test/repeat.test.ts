// What is sent once more: what the node's contract says, and nothing else. Every request meets every fault.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ClientRequest, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "../dist/client.js";
import { retryAfter } from "../dist/http.js";
import { examples } from "./node.js";

type Repeats = "always" | "with_key" | "never";

const contract = JSON.parse(readFileSync(join(examples, "../test/sdk/testdata/repeats.json"), "utf8")) as {
  method: string; path: string; repeats: Repeats;
}[];

function repeats(method: string, path: string): Repeats {
  const fits = (pattern: string) => new RegExp(`^${pattern.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
  const o = contract.find((o) => o.method === method && fits(o.path));
  assert(o, `${method} ${path} is no operation`);
  return o.repeats;
}

const key = "job:1:2";
const held = { caller: 1, id: 2, attempt: 1 };

/** One request each, by the name of the method that makes it. */
const asked: Record<string, (c: Client) => Promise<unknown>> = {
  submit: (c) => c.submit([{ script_type: "x" }], "k"), // it always has a key
  show: (c) => c.show(key),
  wait: (c) => c.wait(key, { timeout: 0 }),
  list: (c) => c.list().next(),
  cancel: (c) => c.cancel(key),
  retry: (c) => c.retry(key),
  signal: (c) => c.signal(key, "click"),
  explain: (c) => c.explain(key),
  submitFlow: (c) => c.submitFlow({ blueprint: "b" }, "k"),
  showFlow: (c) => c.showFlow(4),
  waitFlow: (c) => c.waitFlow(4, { timeout: 0 }),
  cancelFlow: (c) => c.cancelFlow(4),
  retryFlow: (c) => c.retryFlow(4),
  explainFlow: (c) => c.explainFlow(4),
  cancelAll: (c) => c.cancelAll({}),
  retryAll: (c) => c.retryAll({}, { dryRun: true }),
  bulk: (c) => c.bulk(3),
  waitBulk: (c) => c.waitBulk(3, { timeout: 0 }),
  cancelBulk: (c) => c.cancelBulk(3),
  read: (c) => c.read("/schedules/nightly"),
  change: (c) => c.change("DELETE", "/schedules/nightly"),
  register: (c) => c.register(["x"]),
  claim: (c) => c.claim("w", { types: ["x"], max: 1 }),
  extend: (c) => c.extend("w", { jobs: [held] }),
  leave: (c) => c.leave("w"),
  finish: (c) => c.finish("w", ["{}"]),
  step: (c) => c.step("w", { ...held, request: {} }),
  log: (c) => c.log("w", held, []),
};

/** A request's last words to its caller: nothing came in time. */
let late: (() => void) | undefined;

const status = (code: number, headers: Record<string, string> = {}) => (_: IncomingMessage, res: ServerResponse) => void res.writeHead(code, headers).end();

/** What a request meets, whether one that may be sent again is, and after how many seconds at the least. */
const faults: Record<string, [(req: IncomingMessage, res: ServerResponse) => void, boolean, number?]> = {
  "the connection is closed": [(req) => void req.socket.destroy(), true],
  "the connection is reset": [(req) => void req.socket.resetAndDestroy(), true],
  "the answer is cut off": [(req, res) => { res.writeHead(200, { "content-length": "100" }).write('{"jo', () => req.socket.destroy()); }, true],
  "no answer comes in time": [() => late!(), true],
  "429": [status(429, { "retry-after": "7" }), true, 7],
  "503": [status(503, { "retry-after": "7" }), true, 7],
  "503 for an hour": [status(503, { "retry-after": "3600" }), true, 30],
  "503 without a time": [status(503), true],
  "502 of a proxy": [status(502), true],
  "504 of a proxy": [status(504), true],
  ...Object.fromEntries([400, 403, 404, 408, 409, 412, 413, 422, 500].map((code) => [String(code), [status(code), false]])),
};

test("all requests are tried", () => {
  const methods = Object.getOwnPropertyNames(Client.prototype).filter((name) => !["constructor", "close", "logs"].includes(name));
  assert.deepEqual(methods.sort(), Object.keys(asked).sort());
});

test("it is sent again where the contract says so, and nowhere else", async (t) => {
  // Pauses are counted, not made; and a request is late when the server says so.
  let rests: number[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", ((f: () => void, ms: number) => (rests.push(ms), real(f, 0))) as typeof setTimeout);
  t.mock.method(ClientRequest.prototype, "setTimeout", function (this: ClientRequest, _: number, f: () => void) {
    late = f;
    return this;
  });
  let seen: string[] = [];
  let meet: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
  const server = createServer((req, res) => {
    let text = `${req.method} ${req.url} ${String(req.headers["idempotency-key"])} `;
    req.on("data", (chunk) => (text += String(chunk)));
    req.on("end", () => {
      seen.push(text);
      const fault = meet;
      meet = undefined;
      if (fault) return fault(req, res);
      res.end(JSON.stringify({ jobs: [{ key }], flows: [{ id: 4 }], states: [], status: "finished" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client({ url, context: 7, token: "t" });
  t.after(() => client.close());
  await client.show(key); // a node that has never answered is not waited for

  for (const [what, ask] of Object.entries(asked)) {
    for (const [fault, [how, again, after = 0]] of Object.entries(faults)) {
      [seen, rests, meet] = [[], [], how];
      const failed = await ask(client).then(() => undefined, (err: unknown) => err);
      const [method, address, withKey] = seen[0]!.split(" ") as [string, string, string];
      const says = repeats(method, address.split("?")[0]!);
      const may = says === "always" || (says === "with_key" && withKey !== "undefined");
      assert.equal(seen.length, may && again ? 2 : 1, `${what}, ${fault}: ${seen.join("; ")}`);
      assert.equal(failed === undefined, may && again, `${what}, ${fault}: ${String(failed)}`);
      if (seen.length < 2) continue;
      assert.equal(seen[0], seen[1]);
      assert(rests[0]! >= after * 1000, `${what}, ${fault}: asked again after ${rests[0]} ms`);
    }
  }
});

test("a node that refuses connections is waited for once it has answered, by what may be sent again", async (t) => {
  const pauses: number[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", ((f: () => void, ms: number) => (pauses.push(ms), real(f, 0))) as typeof setTimeout);
  const server = createServer((_, res) => res.setHeader("connection", "close").end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client({ url, context: 7, token: "t" });
  t.after(() => client.close());
  await client.show(key);
  await new Promise((resolve) => server.close(resolve).closeAllConnections());
  for (const [what, ask] of Object.entries(asked)) {
    pauses.length = 0;
    await assert.rejects(ask(client), { code: "unavailable" }, what);
    const reads = ["show", "wait", "list", "explain", "bulk", "waitBulk", "read", "showFlow", "waitFlow", "explainFlow"];
    const again = [...reads, "submit", "submitFlow", "register", "leave"];
    assert.equal(pauses.length, again.includes(what) ? 10 : 0, what);
  }
});

test("Retry-After is read as in the other languages", () => {
  const table = JSON.parse(readFileSync(join(examples, "../test/sdk/testdata/retry_after.json"), "utf8")) as {
    now: string; headers: { header: string; seconds: number }[];
  };
  assert(table.headers.length > 0);
  for (const { header, seconds } of table.headers) assert.equal(retryAfter(header, Date.parse(table.now)), seconds, header);
});
