package main

import (
	"os/exec"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script/scripttest"
)

const durableTop = `import { step, sleep, wait, call, gather, approval, now, random, uuid, version, StepFailed, TimedOut } from "ramet";
const first = process.env.RAMET_ATTEMPT === "1";
`

// durableNode is the suite's durable scripts for jobs of type node.
var durableNode = scripttest.DurableSnippets{
	Steps: durableTop + `
const a = await step("a", () => { console.log("doing a"); return { s: "x", list: [1, undefined] }; });
console.log("a is", a.s, a.list.length);
if (first) process.exit(1);
await step("a", async () => { console.log("doing a again"); });
console.log("end");
`,
	Retry: durableTop + `
const got = await step("r", async (step) => {
  console.log("try", step.attempt, step.key);
  if (step.attempt < 3) throw new Error("busy");
  return 7;
}, { retries: 2, after: 0.001 });
console.log("got", got);
`,
	Failure: durableTop + `
try {
  await step("f", () => { console.log("doing f"); throw new Error("no money"); });
} catch (err) {
  if (err instanceof StepFailed) console.log("failed:", err.message);
}
if (first) process.exit(1);
`,
	Sleep: durableTop + `
console.log("before");
try { await sleep("nap", 3600); } catch { console.log("caught"); } finally { console.log("after"); }
`,
	Wait: durableTop + `console.log((await wait("click")).by);`,
	Late: durableTop + `
try {
  await wait("w", { signal: "click", timeout: 0.001 });
} catch (err) {
  if (err instanceof TimedOut) console.log("late");
}
`,
	Drawn: durableTop + `
console.log((await now()).getTime());
console.log(await random());
console.log(await uuid());
if (first) process.exit(1);
`,
	Version: durableTop + `console.log(await version("v", 2));`,
	Inside: durableTop + `
try { await step("outer", () => step("inner", () => 1)); } catch (err) { console.log(err.message); }
`,
	Large: durableTop + `
try {
  await step("l", () => { console.log("doing l"); return "x".repeat(2 << 20); });
} catch (err) {
  if (err instanceof StepFailed) console.log("refused");
}
if (first) process.exit(1);
`,
	Call: durableTop + `
const r = await call("bill", { blueprint: "billing", params: { n: 17, t: "x" } });
console.log(r.n, r.t);
try { await call("bad", { blueprint: "bad" }); } catch (err) { if (err instanceof StepFailed) console.log("failed:", err.message); }
`,
	Gather: durableTop + `
const [a, b] = await gather([{ name: "a", blueprint: "a", params: { n: 1 } }, { name: "b", script: "exit", params: { n: 2 } }]);
console.log(a.n, b.n);
`,
	Approval: durableTop + `
const d = await approval("pay", { text: "pay?" });
if (d.approved) console.log("yes", d.answers.amount, d.comment);
`,
	Prerequisite: durableTop + `
await wait("data", { prerequisite: "file:in.csv" });
console.log("met");
`,
}

func TestDurableScriptsOfNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node in PATH")
	}
	rt, err := openRuntime(domain.ScriptNode, builtin[domain.ScriptNode], config{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	scripttest.Durable(t, rt, durableNode)
}
