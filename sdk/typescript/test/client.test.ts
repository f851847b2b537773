import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { keyToken, PartlyRefused, RametError } from "ramet";
import { Node, promised, work } from "./node.js";

let node: Node;
const ends: (() => unknown)[] = [];
before(async () => {
  node = await Node.start({ after: (f) => ends.push(f as () => unknown) });
});
after(async () => {
  for (const end of ends) await end();
});

test("a function runs as a job, and its result is the job's", async (t) => {
  const app = node.app();
  const add = app.job("add", { retries: 2, timeout: 60 }, ({ a, b }: { a: number; b: number }, job) => {
    job.log("adding %d and %d", a, b);
    return { sum: a + b, of: [a, b], text: "done" };
  });
  work(t, app);
  const handle = await add.submit({ a: 1, b: 2 }, { priority: 3 });
  const job = await handle.wait();
  assert.equal(job.status, "finished");
  assert.deepEqual(job.result, { sum: "3", of: "[1,2]", text: "done" });
  assert.deepEqual([job.retries, job.timeout, job.priority], [2, 60, 3]);
  const lines = [];
  for await (const { line } of handle.logs()) lines.push(line);
  assert.deepEqual(lines, ["adding 1 and 2"]);
  assert.equal((await handle.explain()).standing, "ended");
  assert.equal((await app.handle(handle.key).show()).id, handle.id);
});

test("a job is submitted before any worker has asked for its type, and once under one key", async () => {
  const app = node.app();
  const first = await app.submit("unheard", { n: 1 }, { key: "order-7" });
  const second = await app.submit("unheard", { n: 1 }, { key: "order-7" });
  assert.equal(second.key, first.key);
  assert.notEqual((await app.submit("unheard", { n: 1 })).key, first.key);
  await assert.rejects(app.submit("unheard", { n: 2 }, { key: "order-7" }), { name: "RametError", code: "conflict" });
});

test("many jobs are submitted at once; what is refused is told apart", async () => {
  const app = node.app();
  const many = app.job("many", (n: number) => n);
  const handles = await many.submitMany([1, 2, 3]);
  assert.equal(new Set(handles.map((h) => h.key)).size, 3);
  assert.deepEqual(await many.submitMany([]), []);
  const refused = app.submitMany([{ type: "many", args: 1 }, { type: "many", args: 2, priority: 77 }]);
  await assert.rejects(refused, (err) => {
    assert(err instanceof PartlyRefused);
    assert.equal(err.outcomes.length, 2);
    assert(err.outcomes[1] instanceof RametError);
    assert.match(err.message, /1 of 2 jobs were refused; the first: .*priority 77/);
    return true;
  });
});

test("jobs are listed over pages, cancelled, and tried again", async () => {
  const app = node.app();
  const listed = app.job("listed", () => {});
  const handles = await listed.submitMany(Array.from({ length: 12 }, () => undefined));
  const seen = new Set<string>();
  for await (const job of app.list({ type: "listed", limit: 5 })) seen.add(`job:${job.caller_id}:${job.id}`);
  assert.deepEqual(seen, new Set(handles.map((h) => h.key)));
  await assert.rejects(app.list({ where: "job.nonsense(" }).next(), { code: "invalid" });

  const [one, two] = handles;
  assert.equal((await one!.cancel()).reason, "cancelled");
  assert.equal((await one!.wait()).status, "error");
  assert.equal((await one!.retry()).status, "dispatched");
  assert.equal((await two!.wait({ timeout: 0.01 })).status, "dispatched");
  await assert.rejects(two!.wait({ signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("errors say what is wrong", async () => {
  await assert.rejects(node.app({ token: "nonsense" }).submit("many", 1), { name: "RametError", code: "unauthenticated" });
  await assert.rejects(node.app().handle("job:1:99999999").show(), { code: "not_found" });
  await assert.rejects(node.app({ url: "http://127.0.0.1:1" }).submit("many", 1), { code: "unavailable", message: /is the node running\?/ });
  assert.throws(() => node.app({ url: "localhost" }), { code: "invalid" });
  assert.throws(() => node.app({ context: 0 }), { code: "invalid" });
  assert.throws(() => node.app().handle("nonsense"), { code: "invalid" });
});

test("tokens are signed with a key file", async () => {
  const app = node.app({ token: keyToken(node.key, "nina") });
  assert((await app.submit("signed", 1)).id > 0);
  await assert.rejects(node.app({ token: keyToken(node.key, "another") }).submit("signed", 1), { code: "unauthenticated" });
});

test("a log is followed while it is written, from any line on", async (t) => {
  const app = node.app();
  const said = promised<void>();
  const talk = app.job("talk", async (_: undefined, job) => {
    job.log("one\ntwo");
    job.error(new Error("three").message);
    await said.promise;
    job.log("x".repeat(40_000));
    job.log("é".repeat(9_000) + "\ud800");
  });
  work(t, app);
  const handle = await talk.submit();
  const logs = handle.logs({ from: 1 });
  const seen = [];
  for (let next = await logs.next(); ; next = await logs.next()) {
    if (next.done) {
      assert.equal(next.value.status, "finished");
      break;
    }
    seen.push([next.value.stream, next.value.line]);
    if (seen.length === 2) said.resolve();
  }
  assert.deepEqual(seen.slice(0, 2), [["stdout", "two"], ["stderr", "three"]]);
  const rest = seen.slice(2).map(([, line]) => line!);
  assert(rest.every((line) => Buffer.byteLength(line) <= 16 << 10));
  assert.equal(rest.join(""), "x".repeat(40_000) + "é".repeat(9_000) + "\ufffd");
});

test("something is done to all jobs that a filter fits, after a count", async () => {
  const { client } = node.app();
  await client.register(["all"]);
  await client.submit(Array.from({ length: 7 }, () => ({ script_type: "all", script: "{}" })), "seven");
  const counted = await client.cancelAll({ type: "all" }, { dryRun: true });
  assert.deepEqual([counted.status, counted.total, counted.done], ["counted", 7, 0]);
  const begun = await client.cancelAll({ type: "all" });
  const done = await client.waitBulk(begun.id);
  assert.deepEqual([done.status, done.done], ["finished", 7]);
  assert.deepEqual(await client.bulk(begun.id), done);
  const seen = new Set<string>();
  for await (const job of client.list({ type: "all", text: "cancelled", sort: "newest" })) seen.add(job.status);
  assert.deepEqual(seen, new Set(["error"]));
  const again = await client.retryAll({ type: "all", status: "error" });
  assert.equal((await client.waitBulk(again.id)).done, 7);
  await assert.rejects(client.cancelBulk(again.id), { code: "conflict" });
  await assert.rejects(client.cancelAll({ where: "job.nonsense(" }), { code: "invalid" });
  await assert.rejects(client.bulk(4_000_000_000), { code: "not_found" });
});

test("a change holds what was read", async () => {
  const { client } = node.app();
  const plan = (script: string) => ({ text: `name: held\nsteps:\n- {name: a, script: ${script}, script_type: shell}\n` }); // which only people change
  await client.change("POST", "/blueprints", { body: plan("one"), ifNone: true });
  await assert.rejects(client.change("POST", "/blueprints", { body: plan("one"), ifNone: true }), { code: "conflict" });
  const read = await client.read<unknown>("/blueprints/held");
  assert.match(JSON.stringify(read.value), /one/);
  await client.change("POST", "/blueprints", { body: plan("two"), ifMatch: read.tag });
  await assert.rejects(client.change("DELETE", "/blueprints/held", { ifMatch: read.tag }), { code: "conflict" });
  const now = await client.read<unknown>("/blueprints/held");
  assert.match(JSON.stringify(now.value), /two/);
  await assert.rejects(client.change("POST", "/jobs", { body: { script_type: "shell", script: "true" }, ifMatch: now.tag }), { code: "invalid" });
  await client.change("DELETE", "/blueprints/held", { ifMatch: now.tag });
  await assert.rejects(client.read("/blueprints/held"), { code: "not_found" });
});
