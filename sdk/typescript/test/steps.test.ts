import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { StepFailed, TimedOut } from "ramet";
import { Node, work } from "./node.js";

let node: Node;
const ends: (() => unknown)[] = [];
before(async () => {
  node = await Node.start({ after: (f) => ends.push(f as () => unknown) });
});
after(async () => {
  for (const end of ends) await end();
});

test("a function goes on where it was", async (t) => {
  const app = node.app();
  const did: string[] = [];
  const order = app.job("steps", { retries: 2 }, async (_: undefined, job) => {
    did.push("top");
    const paid = await job.step(
      "charge",
      (step) => {
        did.push(`charge ${step.attempt}`);
        if (step.attempt === 1) throw new Error("busy");
        return { amount: 17, key: step.key.length };
      },
      { retries: 1, after: 0.01 },
    );
    const both = await Promise.all([job.step("left", () => 1), job.step("right", async () => 2)]);
    const uuid = await job.steps.uuid();
    await assert.rejects(job.step("fail", () => { throw new Error("no money"); }), StepFailed);
    await assert.rejects(job.wait("nothing", { timeout: 0.01 }), TimedOut);
    if (job.attempt === 1) throw new Error("the program breaks");
    try {
      await job.sleep("nap", 1.2);
    } catch {
      return "caught"; // it does not hold the job
    }
    const click = await job.wait("click", { timeout: 60 });
    return { ...paid, both, uuid: uuid.length, by: click.by };
  });
  work(t, app);
  const handle = await order.submit();
  await app.handle(handle.key).signal("click", { by: "ada" });
  const ended = await handle.wait({ timeout: 30 });
  assert.deepEqual(ended.result, { amount: "17", key: "36", both: "[1,2]", uuid: "36", by: "ada" });
  assert.equal(did.filter((what) => what === "charge 1").length, 1);
  assert.equal(did.filter((what) => what === "charge 2").length, 1);
  assert.ok(did.filter((what) => what === "top").length >= 3, did.join());
});
