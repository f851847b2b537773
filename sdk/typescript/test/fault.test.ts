import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { JobStopped, RametError, type Log } from "ramet";
import { home, killed, Node, promised, work } from "./node.js";

/** The next line of a log that has not ended. */
async function line(next: Promise<IteratorResult<Log, unknown>>): Promise<string> {
  const { value, done } = await next;
  assert(!done, "the log has ended");
  return value.line;
}

/** Runs the command ramet-worker with an app of the tests. */
function command(t: TestContext, env: NodeJS.ProcessEnv, ...args: string[]) {
  const file = join(import.meta.dirname, "fixture.js");
  const p = spawn(process.execPath, [join(home, "dist/command.js"), file, ...args], { env, stdio: ["ignore", "inherit", "inherit"] });
  t.after(() => killed(p));
  return p;
}

test("the job of a worker that was killed goes to another, and it stops on SIGTERM", async (t) => {
  const node = await Node.start(t);
  const app = node.app();
  const worker = command(t, node.env, "--lease", "5");
  const handle = await app.submit("patient", {});
  const logs = handle.logs();
  assert.equal(await line(logs.next()), "attempt 1");
  await killed(worker);
  const signing = { ...process.env, RAMET_NODE: `${node.url}#nina`, RAMET_KEY: node.key }; // it signs its tokens itself
  const other = command(t, signing, "--lease", "5", "--label", "a=b", "--version", "1.2", "--concurrency", "3");
  assert.match(await line(logs.next()), /^attempt 1 ended: its runner was lost: /); // the node's
  assert.equal(await line(logs.next()), "attempt 2");
  const job = await handle.wait();
  assert.deepEqual([job.status, job.attempt, job.losses], ["finished", 2, 1]);
  other.kill("SIGTERM");
  const code = await new Promise((resolve) => other.on("exit", resolve));
  assert.equal(code, 0);
});

test("what is safe is asked again after a 429, and nothing else", async (t) => {
  const node = await Node.start(t, "doors: {requests_per_actor: 1}\n");
  const app = node.app();
  const { key } = await app.submit("later");
  const enough = new AbortController();
  const waited = app.handle(key).wait({ signal: enough.signal });
  const cancel = () => app.handle("job:1:999").cancel().then(() => "done", (err: RametError) => err.code);
  while ((await cancel()) !== "exhausted"); // "not_found" until the wait has arrived
  const submitted = app.submit("later");
  const shown = app.handle(key).show();
  assert.equal(await cancel(), "exhausted");
  enough.abort(new Error("enough"));
  await assert.rejects(waited, /enough/);
  assert.notEqual((await submitted).key, key);
  assert.equal((await shown).status, "dispatched");
});

for (const [how, away] of [
  ["was killed", (node: Node) => node.kill()],
  ["was told to stop", (node: Node) => node.end()],
] as const) {
  test(`a node that ${how} and started again is no end: of a wait, a log, a claim and an end`, async (t) => {
    const node = await Node.start(t);
    const app = node.app();
    const begun = promised<void>();
    const may = promised<void>();
    const f = app.job("survivor", async (_: undefined, job) => {
      job.log("begun");
      begun.resolve();
      await may.promise;
      job.log("done");
      return { attempt: job.attempt };
    });
    const stop = work(t, app);
    const handle = await f.submit();
    const waited = handle.wait();
    const logs = handle.logs();
    assert.equal(await line(logs.next()), "begun");
    const done = (async () => {
      for (let next = await logs.next(); ; next = await logs.next()) if (next.done || next.value.line === "done") return next.done;
    })();
    await begun.promise;
    await away(node);
    may.resolve(); // the end cannot be handed in at first
    await node.start();
    const job = await waited;
    assert.deepEqual([job.status, job.result["attempt"]], ["finished", "1"]);
    assert.equal(await done, false, "the log goes on to its end");
    assert.equal((await (await f.submit()).wait()).status, "finished");
    await stop(); // while there is a node to hand ends in
  });
}

for (const [what, away, back] of [
  ["is dead", (node: Node) => node.kill(), (node: Node) => node.start()],
  ["hangs", (node: Node) => node.hang(), (node: Node) => node.goOn()],
] as const) {
  test(`while the node ${what}, a function is told to stop before its lease runs out`, async (t) => {
    const node = await Node.start(t);
    const app = node.app();
    const begun = promised<void>();
    let until = 0; // when the lease runs out, as the worker may know
    const { client } = app;
    const claim = client.claim.bind(client);
    client.claim = async (...args) => {
      const asked = performance.now();
      const jobs = await claim(...args);
      if (jobs.length > 0) until = asked + 5_000;
      return jobs;
    };
    const extend = client.extend.bind(client);
    client.extend = async (...args) => {
      const asked = performance.now();
      const states = await extend(...args);
      until = asked + 5_000;
      return states;
    };
    const told = promised<[string, number]>();
    const f = app.job("alone", (_: undefined, job) => {
      if (job.attempt > 1) return "again";
      begun.resolve();
      return new Promise((_, reject) =>
        job.signal.addEventListener("abort", () => {
          told.resolve([(job.signal.reason as JobStopped).why, performance.now()]);
          reject(job.signal.reason as Error);
        }),
      );
    });
    const stop = work(t, app, { lease: 5 });
    const handle = await f.submit();
    await begun.promise;
    await away(node);
    const [why, at] = await told.promise;
    assert.equal(why, "lost");
    assert(at < until, `told ${at - until} ms late`);
    await back(node);
    assert.deepEqual((await handle.wait()).result, { value: "again" });
    await stop();
  });
}

for (const [said, lease, least] of [[2, 30, 2_000], [600, 5, 0]] as const) {
  test(`an end that is refused for ${said} s is handed in again then, but before its lease of ${lease} s runs out`, async (t) => {
    const node = await Node.start(t);
    const app = node.app();
    const { client } = app;
    const finish = client.finish.bind(client);
    const asked: number[] = [];
    client.finish = async (...args) => {
      asked.push(performance.now());
      if (asked.length > 1) return finish(...args);
      const busy = new RametError("exhausted", "busy");
      busy.retryAfter = said;
      throw busy;
    };
    const f = app.job("busy", () => "done");
    const stop = work(t, app, { lease });
    assert.deepEqual((await (await f.submit()).wait()).result, { value: "done" });
    const rest = asked[1]! - asked[0]!;
    assert(rest >= least && rest < 60_000, `handed in again after ${rest} ms`);
    await stop();
  });
}

test("a lease that is given up goes back at once, and counts as a loss", async (t) => {
  const node = await Node.start(t);
  const app = node.app();
  const { client } = app;
  const claim = client.claim.bind(client);
  let late = true; // the first comes too late for its lease to be begun, and in time to be given back
  client.claim = async (...args) => {
    const jobs = await claim(...args);
    for (const a of jobs) {
      if (late) a.lease_ms = 100_000;
      late = false;
    }
    return jobs;
  };
  const f = app.job("given-up", () => "done");
  const stop = work(t, app, { lease: 600 });
  const job = await (await f.submit()).wait();
  assert.deepEqual([job.status, job.attempt, job.losses], ["finished", 2, 1]);
  await stop();
});

test("a function that hangs, and does not listen, is ended by the node, and left behind", async (t) => {
  const node = await Node.start(t);
  const warned: string[] = [];
  const app = node.app({ logger: { info() {}, warn: (message) => void warned.push(message) } });
  const deaf = app.job("deaf", { timeout: 1 }, () => new Promise(() => {}));
  const stop = work(t, app, { lease: 5, grace: 0 });
  const job = await (await deaf.submit()).wait();
  assert.deepEqual([job.status, job.reason], ["error", "timeout"]);
  await stop();
  assert.deepEqual(warned, ["functions do not stop though they were told to; they are left behind"]);
});
