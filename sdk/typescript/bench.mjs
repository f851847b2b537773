// Measures no-op jobs a second in one process, against a node of its own.
//
//   npm run build && node bench.mjs [--ramet FILE] [--jobs 50000] [--concurrency 256]
//
// It prints one line of JSON: how fast jobs are submitted, how fast they are done once
// they are there, what processor time the worker and the node took, and how long it takes
// an idle worker to start a job after it was submitted.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { App } from "./dist/index.js";

const { values } = parseArgs({
  options: {
    ramet: { type: "string", default: "ramet" },
    jobs: { type: "string", default: "50000" },
    concurrency: { type: "string", default: "256" },
  },
});
const jobs = Number(values.jobs);
const concurrency = Number(values.concurrency);

/** Starts a node on a data folder of its own. */
async function startNode() {
  const data = mkdtempSync(join(tmpdir(), "ramet-bench-"));
  const node = spawn(values.ramet, ["serve", "--data", data, "--name", "bench", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: node.stderr })) {
    const at = /msg="node started".* listen=([0-9.:]+)/.exec(line)?.[1];
    if (!at) continue;
    node.stderr.resume();
    const token = execFileSync(values.ramet, ["token", "--key", join(data, "operator.key"), "--audience", "bench"], { encoding: "utf8" }).trim();
    return { node, data, token, url: `http://${at}` };
  }
  throw new Error("the node does not start");
}

/** The processor time that a process has taken, in seconds. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const { node, data, token, url } = await startNode();
try {
  const app = new App({ url, token, context: 1 });
  let done = 0;
  let all = () => {};
  let ready = 0;
  const starts = [];
  const noop = app.job("noop", () => {
    if (++done === ready) all();
  });
  const probe = app.job("probe", (args) => {
    starts.push(performance.now() - args.at);
  });

  const each = 1000;
  let begun = performance.now();
  for (let left = jobs; left > 0; left -= each) await noop.submitMany(Array.from({ length: Math.min(each, left) }, () => ({})));
  const submitted = jobs / ((performance.now() - begun) / 1000);

  ready = jobs;
  const ended = new Promise((resolve) => (all = resolve));
  const stopping = new AbortController();
  const cpu = process.cpuUsage();
  const nodeCpu = cpuOf(node.pid);
  begun = performance.now();
  const running = app.run({ concurrency, signal: stopping.signal });
  await ended;
  const rate = jobs / ((performance.now() - begun) / 1000);
  const used = process.cpuUsage(cpu);
  const nodeUsed = cpuOf(node.pid) - nodeCpu;

  for (let i = 0; i < 200; i++) await (await probe.submit({ at: performance.now() })).wait();
  starts.sort((a, b) => a - b);
  stopping.abort();
  await running;
  console.log(
    JSON.stringify({
      jobs, concurrency,
      submitted_per_s: Math.round(submitted),
      done_per_s: Math.round(rate),
      worker_cpu_us_per_job: Math.round((used.user + used.system) / jobs),
      node_cpu_us_per_job: Math.round((nodeUsed * 1e6) / jobs),
      submit_to_start_p50_ms: Number(starts[100].toFixed(2)),
    }),
  );
} finally {
  node.kill("SIGKILL");
  rmSync(data, { recursive: true, force: true });
}
