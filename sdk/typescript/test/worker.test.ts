import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { Fail, JobStopped, RametError, RetryAfter, type Job, type JobHandle } from "ramet";
import { Node, promised, work } from "./node.js";

let node: Node;
const ends: (() => unknown)[] = [];
before(async () => {
  node = await Node.start({ after: (f) => ends.push(f as () => unknown) });
});
after(async () => {
  for (const end of ends) await end();
});

/** Fulfilled with why the function was told to stop. */
const stopped = (job: Job): Promise<string> =>
  new Promise((resolve) => job.signal.addEventListener("abort", () => resolve((job.signal.reason as JobStopped).why)));

for (const concurrency of [1, 2, 4, 64]) {
  test(`bursts that come one after the other are served, ${concurrency} at once`, async (t) => {
    const app = node.app();
    const burst = app.job(`burst-${concurrency}`, () => {});
    work(t, app, { concurrency });
    for (const size of [1, 1, 1, 1, 1, 3 * concurrency, 3 * concurrency + 1, 1]) {
      for (const handle of await burst.submitMany(Array.from({ length: size }, () => undefined))) {
        assert.equal((await handle.wait({ timeout: 20 })).status, "finished");
      }
    }
  });
}

test("how a function ends is how its job ends", async (t) => {
  const app = node.app();
  const how = app.job("how", { retries: 1, timeout: 1 }, async (kind: string, job) => {
    switch (kind) {
      case "fail":
        throw new Error("no luck", { cause: new Error("the moon") });
      case "final":
        throw new Fail("never");
      case "later":
        if (job.attempt === 1) throw new RetryAfter(0.01, "not yet");
        return { attempt: job.attempt };
      case "text":
        return "a text";
      case "circle": {
        const circle: { self?: unknown } = {};
        circle.self = circle;
        return circle;
      }
      case "ten megabytes":
        return { x: "x".repeat(10 << 20) };
      case "set by the runner":
        return { stdout: "x" };
      case "hang":
        throw new Error(`told: ${await stopped(job)}`);
    }
    return undefined;
  });
  work(t, app);
  const table = [
    ["fail", "error", "script_failed", /^no luck: the moon$/, 2],
    ["final", "error", "script_failed", /^never$/, 1],
    ["later", "finished", undefined, { attempt: "2" }, 2],
    ["text", "finished", undefined, { value: "a text" }, 1],
    ["nothing", "finished", undefined, {}, 1],
    ["circle", "error", "script_failed", /cannot be written as JSON/, 1],
    ["ten megabytes", "error", "script_failed", /the result has 10485768 bytes as JSON, the limit is 524288/, 1],
    ["set by the runner", "error", "script_failed", /its end was not taken: .*set by the runner/, 1],
    ["hang", "error", "timeout", /./, 2],
  ] as const;
  const handles = await how.submitMany(table.map(([kind]) => kind));
  for (const [i, [kind, status, reason, want, attempts]] of table.entries()) {
    const job = await handles[i]!.wait();
    assert.deepEqual([job.status, job.reason, job.attempt], [status, reason, attempts], `${kind}: ${job.error}`);
    if (want instanceof RegExp) assert.match(job.error ?? "", want, kind);
    else assert.deepEqual(job.result, want, kind);
  }
  const failed = [];
  for await (const { stream, line } of handles[0]!.logs()) failed.push(`${stream} ${line}`);
  assert(failed.some((line) => line.startsWith("stderr Error: no luck")), "the stack is in the log");
});

test("a function does not begin under a lease that ran out", async (t) => {
  const app = node.app();
  const attempts: number[] = [];
  const f = app.job("held-up", (_: undefined, job) => {
    attempts.push(job.attempt);
  });
  const claim = app.client.claim.bind(app.client);
  // The worker was held up after the node had given it the job, and another might have had it since.
  app.client.claim = async (...ask) => (await claim(...ask)).map((a) => ({ ...a, lease_ms: a.attempt === 1 ? 0 : a.lease_ms }));
  work(t, app, { lease: 5 });
  const job = await (await f.submit()).wait();
  assert.deepEqual([job.status, attempts], ["finished", [2]]);
});

test("arguments that cannot be read fail the job for good", async (t) => {
  const app = node.app();
  app.job("unread", { retries: 3 }, () => "never");
  work(t, app);
  await app.client.register(["unread"]);
  const [submitted] = await app.client.submit([{ script: "{nonsense", script_type: "unread", retries: 3 }], "unread-1");
  const job = await app.handle(submitted!.key!).wait();
  assert.equal(job.attempt, 1);
  assert.match(job.error ?? "", /cannot be read as JSON/);
});

test("a function that runs is told that its job was cancelled, and an ended one has succeeded all the same", async (t) => {
  const app = node.app();
  const begun = promised<void>();
  const long = app.job("long", async (_: undefined, job) => {
    begun.resolve();
    throw new Error(await stopped(job));
  });
  work(t, app, { lease: 600 }); // no renewal would bring it in time
  const handle = await long.submit();
  await begun.promise;
  await handle.cancel();
  const job = await handle.wait({ timeout: 30 });
  assert.deepEqual([job.status, job.reason, job.error], ["error", "cancelled", job.error]);
});

test("a worker that stops is listed no more", async (t) => {
  const app = node.app();
  const listed = async () => {
    const answer = await fetch(`${node.url}/v1/runners?context=1`, { headers: { authorization: `Bearer ${node.token}` } });
    return ((await answer.json()) as { runners: { worker?: string }[] }).runners.some((r) => r.worker === "leaver");
  };
  const leaves = app.job("leaves", async () => listed());
  const stop = work(t, app, { name: "leaver" });
  assert.equal((await (await leaves.submit()).wait()).result?.["value"], "true");
  await stop();
  assert.equal(await listed(), false);
});

test("an attempt is ended once, and by who has it", async () => {
  const { client } = node.app();
  await client.register(["twice"]);
  await client.submit([{ script: "{}", script_type: "twice" }], "twice-1");
  const [a] = await client.claim("w1", { types: ["twice"], lease_ms: 5000 });
  const end = { caller: a!.job.caller_id, id: a!.job.id, attempt: a!.attempt, verdict: "succeeded" };
  const others = await client.finish("w2", [JSON.stringify(end)]);
  assert.equal(others[0]!.problem?.code, "conflict");
  for (let i = 0; i < 2; i++) {
    const [ended] = await client.finish("w1", [JSON.stringify(end)]);
    assert.deepEqual([ended!.status, ended!.problem], ["finished", undefined]);
  }
  await assert.rejects(client.finish("w1", ["x".repeat(9 << 20)]), (err) => err instanceof RametError && /more than 8388608 bytes/.test(err.message));
});

test("many large ends and logs are handed in by several requests", async (t) => {
  const app = node.app();
  const large = app.job("large", (_: undefined, job) => {
    for (let i = 0; i < 2_000; i++) job.log(`${i} ${"\u0001".repeat(300)}`);
    return { x: "\u0001".repeat(80_000) };
  });
  work(t, app);
  for (const handle of await large.submitMany(Array.from({ length: 16 }, () => undefined))) {
    const job = await handle.wait();
    assert.equal(job.status, "finished", job.error);
    assert.equal(job.result["x"]?.length, 80_000);
  }
});

/** A job's log once it has ended, and how it has ended. */
async function logOf(handle: JobHandle): Promise<string[]> {
  const lines = [];
  for await (const { line } of handle.logs()) lines.push(line);
  assert.equal((await handle.wait()).status, "finished");
  return lines;
}

const numbered = (n: number, size: number): string[] => Array.from({ length: n }, (_, i) => String(i).padEnd(size, "."));

test("all lines come with the end", async (t) => {
  const app = node.app();
  const wordy = app.job("wordy", ({ n, size }: { n: number; size: number }, job) => {
    for (const line of numbered(n, size)) job.log(line);
  });
  work(t, app);
  for (const [n, size] of [[1_001, 1], [200, 3_000], [100, 9_000], [10_000, 1]] as const) {
    assert.deepEqual(await logOf(await wordy.submit({ n, size })), numbered(n, size), `${n} lines of ${size} bytes`);
  }
});

test("missing lines are told of where they are", async (t) => {
  const app = node.app();
  const seen = promised<void>();
  const wordy = app.job("too-wordy", async (_: undefined, job) => {
    job.log("first");
    await seen.promise;
    for (const line of numbered(60_000, 1)) job.log(line); // none is sent meanwhile: the loop has no turn
  });
  work(t, app);
  const handle = await wordy.submit();
  for await (const { line } of handle.logs()) {
    assert.equal(line, "first");
    break;
  }
  seen.resolve();
  const mark = "50000 lines are missing here: they could not be sent";
  assert.deepEqual(await logOf(handle), ["first", mark, ...numbered(60_000, 1).slice(50_000)]);
});

for (const code of ["exhausted", "invalid"] as const) {
  test(`a node that says that lines at the end are ${code} is asked ${code === "invalid" ? "no more" : "again"}`, async (t) => {
    const app = node.app();
    const wordy = app.job(`wordy-${code}`, (_: undefined, job) => {
      for (const line of numbered(2_001, 1)) job.log(line);
    });
    const log = app.client.log.bind(app.client);
    let requests = 0;
    app.client.log = async (...ask) => {
      if (++requests === 1) throw new RametError(code, "not now");
      await log(...ask);
    };
    work(t, app);
    const lines = await logOf(await wordy.submit());
    const mark = "1002 lines are missing here: they could not be sent";
    assert.deepEqual(lines, code === "invalid" ? [mark, ...numbered(2_001, 1).slice(1_002)] : numbered(2_001, 1));
    assert.equal(requests, code === "invalid" ? 1 : 3);
  });
}

test("a result, an error and lines of 10 MB cost the job nothing else", async (t) => {
  const app = node.app();
  const text = "\u0001".repeat(10 << 20);
  const large = app.job("ten-mb", { retries: 1 }, ({ what }: { what: string }, job) => {
    if (what === "result") return text;
    if (what === "error") throw new Error(`why: ${text}`);
    job.log(text);
    job.log(text);
    job.log("the last");
    return 1;
  });
  work(t, app);
  const [result, error, lines] = await large.submitMany([{ what: "result" }, { what: "error" }, { what: "lines" }]);
  const of = ({ status, attempt, losses }: { status: string; attempt?: number; losses?: number }) => [status, attempt, losses ?? 0];
  assert.deepEqual(of(await result!.wait()), ["error", 1, 0]);
  const failed = await error!.wait();
  assert.deepEqual(of(failed), ["error", 2, 0]);
  assert.match(failed.error!, /^why: /);
  assert.deepEqual(of(await lines!.wait()), ["finished", 1, 0]);
});

test("a worker that is told to stop lets functions end, and gives back what does not", async (t) => {
  const app = node.app();
  const both = promised<void>();
  const may = promised<void>();
  let begun = 0;
  const f = app.job("stops", async (how: string, job) => {
    if (++begun === 2) both.resolve();
    if (how === "ends") return may.promise;
    throw new Error(await stopped(job));
  });
  const stop = work(t, app, { grace: 0.5 });
  const [ends, hangs] = await f.submitMany(["ends", "hangs"]);
  await both.promise;
  const gone = stop();
  may.resolve();
  await gone;
  assert.equal((await ends!.show()).status, "finished");
  const job = await hangs!.show();
  assert.deepEqual([job.lease_owner, job.losses, job.failures, (job.queued_ms ?? 0) > 0], [undefined, undefined, undefined, true]);
});

test("leases are renewed for as long as a function runs, and a claim does not wait one away", async (t) => {
  const app = node.app();
  const renewed = promised<void>();
  let renewals = 0;
  const { client } = app;
  const extend = client.extend.bind(client);
  client.extend = async (...args) => {
    const states = await extend(...args);
    if (++renewals === 4) renewed.resolve(); // by then, what was claimed would have run out
    return states;
  };
  const claim = client.claim.bind(client);
  client.claim = (worker, ask, signal) => {
    assert(ask.wait_ms! * 3 <= ask.lease_ms!);
    return claim(worker, ask, signal);
  };
  const f = app.job("renewed", async (_: undefined, job) => {
    await renewed.promise;
    return job.signal.aborted;
  });
  work(t, app, { lease: 5 });
  const job = await (await f.submit()).wait();
  assert.deepEqual([job.result, job.attempt], [{ value: "false" }, 1]);
});

test("a worker that was held up asks whether it has its jobs still, before it stops them", async (t) => {
  const app = node.app();
  let renewed = promised<void>();
  const { client } = app;
  const claim = client.claim.bind(client);
  // As if some of the lease had gone by before the worker came to look at it.
  client.claim = async (...args) => (await claim(...args)).map((a) => ({ ...a, lease_ms: 4000 }));
  const extend = client.extend.bind(client);
  client.extend = async (...args) => {
    const states = await extend(...args);
    setImmediate(() => renewed.resolve()); // after the worker has taken it in
    return states;
  };
  const f = app.job("held-up", async (_: undefined, job) => {
    const until = performance.now() + 3200;
    while (performance.now() < until); // nothing else of this process runs, and most of the rest goes by
    renewed = promised<void>();
    await renewed.promise;
    return job.signal.aborted;
  });
  work(t, app, { lease: 5 });
  // Were it not asked, each attempt would be lost. On a slow machine one may be, as its lease is short.
  assert.deepEqual((await (await f.submit()).wait()).result, { value: "false" });
});

test("middleware wraps functions, what was used first outermost", async (t) => {
  const app = node.app();
  const order: string[] = [];
  app.use(async (job, next) => {
    order.push(`outer ${job.record.script_type}`);
    return { wrapped: await next() };
  });
  const f = app.job("wrapped", () => {
    order.push("function");
    return 1;
  });
  app.use((_job, next) => {
    order.push("inner");
    return next();
  });
  work(t, app);
  assert.deepEqual((await (await f.submit()).wait()).result, { wrapped: "1" });
  assert.deepEqual(order, ["outer wrapped", "inner", "function"]);
});

test("a clock an hour off does no harm: only durations count", async (t) => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 3_600_000 });
  t.after(() => mock.timers.reset());
  const app = node.app();
  const f = app.job("clock", (_: undefined, job) => {
    assert(!job.signal.aborted);
    return Date.now();
  });
  work(t, app, { lease: 5 });
  const job = await (await f.submit()).wait();
  assert.deepEqual([job.status, job.attempt], ["finished", 1]);
});

test("an app without functions, or of two of a name, is refused", async () => {
  const app = node.app();
  await assert.rejects(app.run(), { code: "invalid" });
  app.job("same", () => {});
  assert.throws(() => app.job("same", () => {}), { code: "invalid" });
  await assert.rejects(app.run({ lease: 1 }), { code: "invalid" });
  await assert.rejects(app.run({ name: "no name" }), { code: "invalid" });
});
