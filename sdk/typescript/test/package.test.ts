// This file tests the package as it is published: its tarball, in fresh folders.
import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { examples, home, killed, Node, promised } from "./node.js";

const exec = promisify(execFile);
let folder: string;
let tarball: string;
let dev: string[]; // what compiles TypeScript

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ramet-package-"));
  // It was built before the tests; building it again would take its files away from them.
  const { stdout } = await exec("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: home });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  tarball = join(folder, packed.filename);
  const others = packed.files.map((f) => f.path).filter((path) => !/^dist\/\w+\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  const own = JSON.parse(await readFile(join(home, "package.json"), "utf8")) as { devDependencies: Record<string, string> };
  dev = Object.entries(own.devDependencies).map(([name, version]) => `${name}@${version}`);
});

after(() => rm(folder, { recursive: true, force: true }));

const install = (dir: string, ...packages: string[]) =>
  exec("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packages], { cwd: dir });

test("the package is used from TypeScript and from JavaScript", async (t) => {
  const node = await Node.start(t);
  const dir = join(folder, "fresh");
  await cp(join(examples, "web-app/typescript/tsconfig.json"), join(dir, "tsconfig.json"), { recursive: true });
  await writeFile(join(dir, "package.json"), '{"type": "module"}');
  await install(dir, tarball, ...dev);
  const list = await exec("npm", ["ls", "ramet", "--json", "--all"], { cwd: dir });
  const { ramet } = (JSON.parse(list.stdout) as { dependencies: { ramet: { dependencies?: object } } }).dependencies;
  assert.equal(ramet.dependencies, undefined, "it needs nothing else");

  const text = (types: boolean) => `
    import { App${types ? ", type JobHandle" : ""} } from "ramet";
    import { run } from "ramet/testing";
    export const app = new App();
    const double = app.job("double", { retries: 3 }, async ({ n }${types ? ": { n: number }" : ""}, job) => {
      job.log("doubling", n);
      return 2 * n;
    });
    const ran = await run(double, { n: 4 });
    const stopping = new AbortController();
    const running = app.run({ signal: stopping.signal });
    const handle${types ? ": JobHandle" : ""} = await double.submit({ n: 21 });
    const job = await handle.wait();
    console.log(ran.result?.value, job.result.value);
    stopping.abort();
    await running;
    app.client.close();`;
  await writeFile(join(dir, "plain.js"), text(false));
  await cp(join(examples, "web-app/typescript/src/jobs.ts"), join(dir, "src/jobs.ts"), { recursive: true });
  await writeFile(join(dir, "src/typed.ts"), text(true));
  await exec("npx", ["tsc"], { cwd: dir });
  for (const file of ["plain.js", "dist/typed.js"]) {
    assert.equal((await exec(process.execPath, [file], { cwd: dir, env: node.env })).stdout, "8 42\n", file);
  }
  await writeFile(join(dir, "src/wrong.ts"), 'import { checkLinks } from "./jobs.js";\nawait checkLinks.submit({ url: "x" });\n');
  await assert.rejects(exec("npx", ["tsc", "--noEmit"], { cwd: dir }), { stdout: /wrong\.ts.*'url' does not exist/ });

  assert.match((await exec("npx", ["ramet-worker", "--help"], { cwd: dir })).stdout, /^Run the functions of a program as jobs/);
  for (const [args, says] of [
    [[], /want one FILE/],
    [["--nonsense"], /--nonsense/],
    [["--export", "double", "dist/jobs.js"], /its export "double" is no App/],
    [["--concurrency", "many", "dist/jobs.js"], /--concurrency "many": want a number/],
    [["--label", "x", "dist/jobs.js"], /want name=value/],
  ] as const) {
    await assert.rejects(exec("npx", ["ramet-worker", ...args], { cwd: dir, env: node.env }), { code: 2, stderr: says });
  }
});

/** The blocks of a page that have a name in their first line, or are of a kind. */
async function blocks(page: string): Promise<{ kind: string; name: string | undefined; text: string }[]> {
  const text = await readFile(page, "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind = "", text = ""]) => {
    return { kind, name: /^\/\/ (\S+\.ts)\n/.exec(text)?.[1], text };
  });
}

test("the programs of the README do what it shows, and those of the docs are right", async (t) => {
  const node = await Node.start(t);
  const dir = join(folder, "readme");
  const docs = join(folder, "docs");
  const pages: [string, string][] = [[dir, join(home, "README.md")], [docs, join(examples, "../docs/typescript.md")]];
  for (const [to, page] of pages) {
    await cp(join(examples, "web-app/typescript/tsconfig.json"), join(to, "tsconfig.json"), { recursive: true });
    await writeFile(join(to, "package.json"), '{"type": "module"}');
    await mkdir(join(to, "src"));
    for (const { name, text } of await blocks(page)) if (name) await writeFile(join(to, "src", name), text);
    await install(to, tarball, ...dev);
    await exec("npx", ["tsc"], { cwd: to });
  }
  await exec(process.execPath, ["--test", "dist/pay.test.js", "dist/order.test.js"], { cwd: docs });

  const shown = await blocks(join(home, "README.md"));
  const [worker, client] = shown.find(({ kind }) => kind === "sh")!.text.trim().split("\n").map((line) => line.split(" "));
  await start(t, dir, node.env, [`node_modules/.bin/${worker![0]}`, ...worker!.slice(1)]);
  const { stdout } = await exec(client![0]!, client!.slice(1), { cwd: dir, env: node.env });
  assert.equal(stdout, shown.find(({ kind }) => kind === "text")!.text);
});

test("the package is installed as the pages say", async () => {
  for (const page of [join(home, "README.md"), join(examples, "../docs/typescript.md")]) {
    const [, text = ""] = /^```sh install\n(.*?)^```$/ms.exec(await readFile(page, "utf8")) ?? [];
    const [build, ...rest] = text.trim().split("\n");
    assert.equal(build, '(cd "$RAMET_SRC/sdk/typescript" && npm ci && npm run build)'); // as was done before these tests
    const dir = await mkdtemp(join(folder, "install-"));
    await exec("sh", ["-ec", rest.join("\n")], { cwd: dir, env: { ...process.env, RAMET_SRC: join(examples, "..") } });
    await writeFile(join(dir, "app.mjs"), 'import { App } from "ramet";\nconsole.log(typeof App);');
    assert.equal((await exec(process.execPath, ["app.mjs"], { cwd: dir })).stdout, "function\n", page);
  }
});

test("the programs of the tour and of the project's README work, and send", async (t) => {
  const node = await Node.start(t);
  const dir = join(folder, "mail");
  await cp(join(examples, "web-app/typescript/tsconfig.json"), join(dir, "tsconfig.json"), { recursive: true });
  await writeFile(join(dir, "package.json"), '{"type": "module"}');
  await mkdir(join(dir, "src"));
  for (const [page, file] of [["docs/tour.md", "mail.ts"], ["README.md", "mailer.ts"]] as const) {
    const { text } = (await blocks(join(examples, "..", page))).find(({ name }) => name === file)!;
    await writeFile(join(dir, "src", file), text);
  }
  await install(dir, tarball, ...dev);
  await exec("npx", ["tsc"], { cwd: dir });
  const [worker] = await start(t, dir, node.env, ["dist/mail.js"]);
  const submit = (...program: string[]) => exec(process.execPath, program, { cwd: dir, env: node.env });
  assert.equal((await submit("dist/mail.js", "ada@example.org")).stdout, "sent\n");
  const ended = once(worker, "exit");
  worker.kill("SIGTERM");
  await ended;
  await start(t, dir, node.env, ["dist/mailer.js"]);
  const asked = `
    import { App } from "ramet";
    const app = new App({ context: 1 });
    console.log((await (await app.submit("mail", { to: "ada" })).wait()).result.value);
    app.client.close();`;
  assert.equal((await submit("--input-type=module", "-e", asked)).stdout, "sent to ada\n");
});

/** Starts a program of the example, and waits for a line of it if asked. */
async function start(t: TestContext, dir: string, env: NodeJS.ProcessEnv, args: string[], line?: RegExp): Promise<[ChildProcess, string]> {
  const p = spawn(process.execPath, args, { cwd: dir, env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => killed(p));
  if (!line) return [p, ""];
  for await (const text of createInterface({ input: p.stdout })) {
    const m = line.exec(text);
    if (m) return [p, m[1]!];
  }
  throw new Error("it ended before it said that");
}

test("the example: a web app whose worker is killed, and the job is done all the same", async (t) => {
  const node = await Node.start(t);
  const dir = join(folder, "web-app");
  const own = (path: string) => !/node_modules|dist/.test(path.slice(examples.length));
  await cp(join(examples, "web-app/typescript"), dir, { recursive: true, filter: own });
  await install(dir, tarball);
  await exec("npm", ["run", "build"], { cwd: dir });

  // The site whose links are checked: the second page takes until the worker is gone.
  const may = promised<void>();
  const asked: Record<string, number> = {}; // as the site counts
  const site = createServer(async (req, res) => {
    asked[req.url!] = (asked[req.url!] ?? 0) + 1;
    if (req.url === "/slow") await may.promise;
    res.writeHead(req.url === "/broken" ? 404 : 200).end("here");
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  t.after(() => site.close().closeAllConnections());
  const { port } = site.address() as { port: number };
  const urls = ["good", "slow", "broken"].map((path) => `http://127.0.0.1:${port}/${path}`);

  const [, web] = await start(t, dir, { ...node.env, PORT: "0" }, ["dist/web.js"], /^listening on (\S+)$/);
  const worker = ["node_modules/.bin/ramet-worker", "dist/jobs.js", "--lease", "5"];
  const [first] = await start(t, dir, node.env, worker);
  assert.match(await (await fetch(web)).text(), /<title>Links<\/title>/);
  const submit = (body: string) => fetch(`${web}/checks`, { method: "POST", body });
  assert.equal((await submit("nonsense")).status, 400);
  assert.equal((await fetch(`${web}/checks/job:1:999`)).status, 404);
  const made = await submit(JSON.stringify({ urls }));
  assert.equal(made.status, 202);
  const check = web + made.headers.get("location");

  const seen: string[] = [];
  const progress = await fetch(`${check}/progress`);
  let rest = "";
  for await (const chunk of progress.body!.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      seen.push(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (seen.length === 1) {
        await killed(first);
        await start(t, dir, node.env, [...worker.slice(0, -1), "60"]); // it goes on while there is no node
      } else if (seen.length === 3) {
        await node.kill();
        await node.start();
        may.resolve();
      }
    }
  }
  const [line, lost, ...lines] = seen;
  assert.equal(line, `data: 1 of 3: 200 ${urls[0]}`); // of the worker that was killed
  assert.match(lost!, /^data: attempt 1 ended: its runner was lost: /); // by the node
  // A line whose answer was lost with the node is sent once more.
  assert.deepEqual(lines.filter((line, i) => line !== lines[i - 1]), [
    `data: 1 of 3: 200 ${urls[0]}`,
    `data: 2 of 3: 200 ${urls[1]}`,
    `data: 3 of 3: 404 ${urls[2]}`,
    'event: end\ndata: {"status":"finished","result":{"broken":"1","checked":"3"}}',
  ]);
  assert.equal(((await (await fetch(check)).json()) as { status: string }).status, "finished");
  // The first page was asked for by both workers, the second perhaps; what came after once.
  assert.deepEqual([asked["/good"], asked["/broken"]], [2, 1]);
});
