// Functions that remember, without a node: as tests of users run them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { App, StepFailed, TimedOut } from "ramet";
import { Memory, run } from "ramet/testing";

const app = new App({ token: "none" });

test("a function is called again from its top", async () => {
  const did: string[] = [];
  const f = app.job("remembers", async (_: undefined, job) => {
    did.push(`call ${job.attempt}`);
    const before = await job.steps.now();
    const pay = (step: { attempt: number; key: string }) => {
      did.push(`pay ${step.attempt}`);
      if (step.attempt < 3) throw new Error("busy");
      return step.key;
    };
    assert.match(await job.step("pay", pay, { retries: 2 }), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    job.log("paid");
    await job.sleep("nap", 0.01);
    await assert.rejects(job.wait("never", { timeout: 3600 }), (err) => {
      if (!(err instanceof TimedOut)) throw err; // what ends the function passes
      return true;
    });
    await job.sleep("long", new Date(before.getTime() + 2 * 86_400_000));
    assert((await job.steps.random()) < (await job.steps.version("v", 3)));
    return (await job.steps.now()).getTime() - before.getTime();
  });
  const memory = new Memory();
  const ran = await run(f, undefined, { memory });
  assert.equal(ran.verdict, "succeeded", ran.error);
  assert(Number(ran.result!["value"]) >= 2 * 86_400_000);
  // A second is short: it is waited for without ending the function; two are not.
  assert.deepEqual(did, ["call 1", "pay 1", "pay 2", "call 2", "pay 3", "call 3", "call 4"]);
  assert.deepEqual(memory.steps, ["now", "step pay", "sleep nap", "wait never", "sleep long", "random", "now"]);
  assert.equal(ran.log.length, 3);
  assert(memory.now.getTime() > Date.now() + 47 * 3_600_000);
  assert.equal((await run(f, undefined)).verdict, "succeeded");
});

test("what is remembered outlives a failure", async () => {
  let [paid, breaks] = [0, true];
  const f = app.job("fragile", async (_: undefined, job) => {
    const n = (await job.step("pay", () => [++paid])).pop(); // which changes nothing of what is remembered
    if (breaks) throw new Error("the program breaks");
    return n;
  });
  const memory = new Memory();
  assert.equal((await run(f, undefined, { memory })).error, "the program breaks");
  breaks = false;
  assert.deepEqual((await run(f, undefined, { memory })).result, { value: "1" });
  assert.equal(paid, 1);
});

const asks = app.job("asks", async (_: undefined, job) => {
  await job.wait("data", { prerequisite: "file:in.csv" });
  const ends = await job.steps.gather([{ name: "one", blueprint: "b" }, { name: "two", script: "s" }]);
  const paid = await job.steps.approval("pay", { text: "Pay?" });
  const late = await job.steps.approval("late", { timeout: 3600, on_deadline: "approve" });
  const bad = await job.steps.call("bad", { script: "s" }).catch((err: unknown) => {
    if (!(err instanceof StepFailed)) throw err;
    return err.message;
  });
  return { ends, by: paid.by, late: late.approved, bad, click: await job.wait("click") };
});

test("what others do comes as the test says", async () => {
  const memory = new Memory({
    signals: { click: [{ by: "ada" }] },
    calls: ({ name, params }) => (name === "bad" ? new Error("no luck") : { of: name, ...params }),
    approvals: { pay: { approved: true, by: "9", comment: "", answers: {} } },
    prerequisites: ["file:in.csv"],
  });
  assert.deepEqual((await run(asks, undefined, { memory })).result, {
    ends: '[{"of":"one"},{"of":"two"}]', by: "9", late: "true", bad: "no luck", click: '{"by":"ada"}',
  });
});

test("what never comes is named, and may come later", async () => {
  const memory = new Memory({ prerequisites: [] });
  const waitsFor = async () => (await run(asks, undefined, { memory })).suspension;
  assert.deepEqual(await waitsFor(), { kind: "wait", name: "data", n: 1, prerequisites: ["file:in.csv"] });
  memory.prerequisites = undefined;
  assert.deepEqual(await waitsFor(), { kind: "call", name: "one", n: 1, children: ["call one", "call two"] });
  memory.calls = { one: {}, two: {}, bad: new Error("no luck") };
  memory.approvals = { pay: true };
  assert.deepEqual(await waitsFor(), { kind: "wait", name: "click", n: 1, signals: ["click"] });
  memory.signals["click"] = ["ada"];
  assert.equal((await run(asks, undefined, { memory })).verdict, "succeeded");
});

test("a function that asks for something else is found", async () => {
  let calls = 0;
  const f = app.job("drifts", async (_: undefined, job) => {
    await job.step(`step ${++calls}`, () => 1);
    await job.sleep("nap", 3600);
  });
  const ran = await run(f, undefined);
  assert.deepEqual([ran.verdict, ran.final], ["failed", true]);
  assert.match(ran.error!, /step "step 2" where its history has step "step 1"/);
});

test("steps side by side are done before a sleep beside them ends the function", async () => {
  const did: string[] = [];
  const f = app.job("beside", async (_: undefined, job) => {
    let goOn = () => {};
    const may = new Promise<void>((resolve) => (goOn = resolve));
    const both = await Promise.all([
      job.step("left", async () => {
        did.push("left");
        await may;
        return 1;
      }),
      job.step("right", () => {
        did.push("right");
        goOn();
        return 2;
      }),
      job.sleep("nap", 3600),
    ]);
    return both.slice(0, 2);
  });
  assert.deepEqual((await run(f, undefined)).result, { value: "[1,2]" });
  assert.deepEqual(did, ["left", "right"]);
});
