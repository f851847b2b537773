import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { App, Fail, FlowHandle, JobHandle, JobStopped, RetryAfter, Steps } from "ramet";
import { run } from "ramet/testing";
import { readEvents } from "../dist/events.js";
import { Job } from "../dist/job.js";
import { JobLog } from "../dist/log.js";
import { resultOf } from "../dist/perform.js";
import { examples } from "./node.js";

const app = new App({ token: "none" });

test("ramet/testing runs a function without a node", async () => {
  const f = app.job("f", async ({ n }: { n: number; at?: Date }, job) => {
    job.log("n is", n, "of attempt", job.attempt);
    if (n === 1) throw new Fail("never");
    if (n === 2) throw new RetryAfter(1.5, "busy");
    if (n === 3) throw new Error("bad luck");
    if (n === 4) await new Promise((_, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason as Error)));
    return { twice: 2 * n, who: job.env["WHO"], size: job.input.params["size"] };
  });
  const ran = await run(f, { n: 21 }, { attempt: 2, env: { WHO: "me" }, input: { params: { size: "3" } } });
  assert.deepEqual(ran, {
    verdict: "succeeded", result: { twice: "42", who: "me", size: "3" }, log: [{ stream: "stdout", line: "n is 21 of attempt 2" }],
  });
  const final = await run(f, { n: 1 });
  assert.deepEqual([final.verdict, final.error, final.final], ["failed", "never", true]);
  const busy = await run(f, { n: 2 });
  assert.deepEqual([busy.verdict, busy.after_ms], ["failed", 1500]);
  const bad = await run(f, { n: 3 });
  assert.equal(bad.verdict, "failed");
  assert(bad.thrown instanceof Error);
  assert.equal(bad.log[1]?.stream, "stderr");
  const stopping = new AbortController();
  const hangs = run(f, { n: 4 }, { signal: stopping.signal });
  stopping.abort(new JobStopped("timeout"));
  assert.equal((await hangs).verdict, "timeout");
  // @ts-expect-error the arguments are typed
  assert.equal((await run(f, { n: "1" })).verdict, "succeeded");
});

test("the page names whatever a job, its steps and its handle have", async () => {
  const page = await readFile(join(examples, "../docs/typescript.md"), "utf8");
  const words = new Set([...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.match(/\w+/g)));
  const inner = ["constructor", "suspension"];
  for (const { prototype } of [Steps, JobHandle, FlowHandle, Job]) {
    const missing = Object.getOwnPropertyNames(prototype).filter((name) => !words.has(name) && !inner.includes(name));
    assert.deepEqual(missing, []);
  }
});

test("what a function returns as a result", () => {
  const cases: [unknown, unknown][] = [
    [undefined, undefined],
    [null, undefined],
    ["text", { value: "text" }],
    [7, { value: "7" }],
    [[1, "a"], { value: '[1,"a"]' }],
    [new Date(0), { value: "1970-01-01T00:00:00.000Z" }],
    [{ a: "x", b: { c: 1 }, d: null, e: undefined, f: "\ud800" }, { a: "x", b: '{"c":1}', d: "null", f: "\ufffd" }],
    [{}, {}],
  ];
  for (const [value, want] of cases) assert.deepEqual(resultOf(value), want);
  assert.throws(() => resultOf({ n: 1n }), Fail);
  assert.throws(() => resultOf(Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [i, 1]))), /1025 fields/);
});

test("lines that cannot be sent go with the end, the last of them", async () => {
  const log = new JobLog();
  for (let i = 0; i < 30_000; i++) log.add("stdout", `line ${i}`);
  const lines = await log.close();
  assert.equal(lines.length, 1000);
  assert.equal(lines[0]?.line, "29001 lines are missing here: they could not be sent");
  assert.deepEqual([lines[1]?.line, lines.at(-1)?.line], ["line 29001", "line 29999"]);
  log.add("stdout", "too late");
  assert.equal((await log.close()).length, 1000);
});

for (const fails of [false, true]) {
  test(`of more lines than are kept it is the last, with the mark where some are missing, where sending ${fails ? "fails" : "goes on"}`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const sent: string[] = [];
    let answer = () => {};
    const log = new JobLog((lines) => new Promise((resolve, reject) => {
      answer = () => (fails ? reject(new Error("no")) : (sent.push(...lines.map((l) => l.line)), resolve()));
    }));
    log.add("stdout", "first");
    t.mock.timers.tick(200);
    log.add("stdout", Array.from({ length: 25_000 }, (_, i) => `line ${i}`).join("\n")); // while the first is on its way
    answer();
    await log.shut();
    while (log.overfull) await log.sendFirst(async (lines) => void sent.push(...lines.map((l) => l.line)));
    const all = [...sent, ...(await log.close()).map((l) => l.line)];
    const mark = `${15_000 + Number(fails)} lines are missing here: they could not be sent`;
    assert.deepEqual(all, [...(fails ? [] : ["first"]), mark, ...Array.from({ length: 10_000 }, (_, i) => `line ${15_000 + i}`)]);
  });
}

test("a line that is sent again has the number that it had", async () => {
  const log = new JobLog();
  log.add("stdout", "one\ntwo");
  const numbers: (number | undefined)[] = [];
  const send = async (lines: { n?: number }[]) => void numbers.push(...lines.map((l) => l.n));
  await assert.rejects(log.sendFirst(async (lines) => {
    await send(lines);
    throw new Error("the answer was lost");
  }), /lost/);
  log.add("stdout", "three");
  await log.sendFirst(send);
  assert.deepEqual(numbers, [1, 2, 1, 2, 3]);
});

test("lines that cannot be sent wait again, in order", async () => {
  const log = new JobLog();
  const lines = Array.from({ length: 2_500 }, (_, i) => `line ${i}`);
  log.add("stdout", lines.join("\n"));
  const sent: string[] = [];
  for (let requests = 0; log.overfull; requests++) {
    const sending = log.sendFirst(async (some) => {
      if (requests % 2 === 0) throw new Error("not now");
      sent.push(...some.map((l) => l.line));
    });
    await (requests % 2 === 0 ? assert.rejects(sending, /not now/) : sending);
  }
  assert.deepEqual([...sent, ...(await log.close()).map((l) => l.line)], lines);
});

test("lines are sent behind the mark of those that are missing before them", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sent: string[] = [];
  const log = new JobLog(async (lines) => void sent.push(...lines.map((l) => l.line)));
  log.add("stdout", Array.from({ length: 25_000 }, (_, i) => `line ${i}`).join("\n"));
  t.mock.timers.tick(200);
  await log.close();
  assert.deepEqual([sent.length, sent[0], sent[1]], [1000, "15000 lines are missing here: they could not be sent", "line 15000"]);
});

test("server-sent events, however they are cut", async () => {
  const text = ': still here\n\nid: 7\nevent: log\r\ndata: {"a":\ndata:1}\n\nevent\ndata: x\n\nevent: end\ndata: last';
  for (let size = 1; size <= text.length; size++) {
    const seen = [];
    const chunks = (async function* () {
      for (let i = 0; i < text.length; i += size) yield text.slice(i, i + size);
    })();
    for await (const e of readEvents(chunks)) seen.push(e);
    assert.deepEqual(seen, [{ name: "log", id: "7", data: '{"a":\n1}' }, { name: "", id: "", data: "x" }], `cut every ${size}`);
  }
});
