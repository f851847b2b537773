import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "./node.js";

const works = `
name: sdk-flow
params: {who: nobody}
output: {greeted: greet.value}
steps:
  - name: greet
    script: echo "value=hello $RAMET_PARAM_WHO" >>"$RAMET_RESULT"
    script_type: shell
`;
const breaks = `
name: sdk-flow-breaks
steps:
  - {name: break, script: 'throw "no"', script_type: rhai}
`;
const waits = `
name: sdk-flow-waits
steps:
  - {name: ask, kind: approval}
`;

test("a flow is submitted, followed and cancelled", async (t) => {
  const app = (await Node.start(t)).app();
  const flow = await app.submitFlow({ text: works, params: { who: "ada" } }, { key: "flow-1" });
  assert.equal((await app.submitFlow({ text: works, params: { who: "ada" } }, { key: "flow-1" })).id, flow.id);
  assert.deepEqual((await flow.wait({ timeout: 30 })).result, { greeted: "hello ada" });
  const again = app.flow(flow.id);
  assert.deepEqual((await again.show()).steps.map((step) => step.name), ["greet"]);
  assert.equal((await again.explain()).standing, "ended");
  const broken = await app.submitFlow({ text: breaks });
  assert.equal((await broken.wait({ timeout: 30 })).status, "error");
  assert((await broken.retry({ failed: true })).done);
  const waiting = await app.submitFlow({ text: waits });
  assert.notEqual((await waiting.wait({ timeout: 0.01 })).status, "error");
  assert.equal((await waiting.cancel()).key, waiting.key);
  assert.equal((await waiting.wait({ timeout: 30 })).status, "error");
  await assert.rejects(app.submitFlow({ blueprint: "there-is-none" }), { code: "not_found" });
  app.client.close();
});
