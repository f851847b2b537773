// This file runs real nodes for tests: processes of the built binary.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { App, type AppOptions, type RunOptions } from "ramet";

const root = resolve(import.meta.dirname, "../../..");
export const binary = process.env["RAMET_BINARY"] ?? join(root, "bin", "ramet");

/** The folder of the package. */
export const home = resolve(import.meta.dirname, "..");
export const examples = join(root, "examples");

/** A Redis server for a board, which ends with the test: its address; where none is installed, nothing. */
export async function redis(t: TestContext): Promise<string | undefined> {
  const data = mkdtempSync(join(tmpdir(), "ramet-sdk-"));
  const path = join(data, "redis.sock");
  const p = spawn("redis-server", ["--port", "0", "--unixsocket", path, "--dir", data, "--save", ""], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    await killed(p);
    rmSync(data, { recursive: true, force: true });
  });
  const missing = await new Promise<boolean>((resolve, reject) => {
    p.on("error", () => resolve(true));
    let said = "";
    p.on("exit", () => reject(new Error(`Redis does not start:\n${said}`)));
    p.stdout.on("data", (chunk) => (said += String(chunk)).includes("ready to accept connections") && resolve(false));
  });
  if (!missing) return `unix://${path}`;
  if (process.env["RAMET_TEST_SERVERS"] === "required") throw new Error("redis-server is not installed");
  t.skip("redis-server is not installed");
  return undefined;
}

/** A node that ends with the test, and its data with it. */
export class Node {
  readonly data = mkdtempSync(join(tmpdir(), "ramet-sdk-"));
  readonly name: string;
  /** The key file of the operator. */
  readonly key: string;
  url = "";
  token = "";
  #process: ChildProcess | undefined;

  private constructor(beside?: Node) {
    this.name = beside ? "nora" : "nina";
    this.key = beside?.key ?? join(this.data, "operator.key"); // a board has one operator
  }

  /** Starts a node, with the text of a config file if there is one; or a second one beside the first of a board. */
  static async start(t: Pick<TestContext, "after">, config = "", beside?: Node): Promise<Node> {
    const node = new Node(beside);
    writeFileSync(join(node.data, "config.yaml"), config);
    t.after(async () => {
      await node.kill();
      rmSync(node.data, { recursive: true, force: true });
    });
    await node.start();
    node.token = execFileSync(binary, ["token", "--key", node.key, "--audience", node.name], { encoding: "utf8" }).trim();
    return node;
  }

  /** Starts it, the second time at the same address. */
  async start(): Promise<void> {
    if (!existsSync(binary)) throw new Error(`${binary} is not there: make build, or set RAMET_BINARY`);
    const listen = this.url ? new URL(this.url).host : "127.0.0.1:0";
    const args = ["serve", "--data", this.data, "--name", this.name, "--listen", listen, "--config", join(this.data, "config.yaml")];
    this.#process = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: this.data } });
    let said = "";
    for await (const line of createInterface({ input: this.#process.stderr! })) {
      said += line + "\n";
      const at = /msg="node started".* listen=([0-9.:]+)/.exec(line)?.[1];
      if (!at) continue;
      this.url = `http://${at}`;
      this.#process.stderr!.resume();
      return;
    }
    throw new Error(`the node does not start:\n${said}`);
  }

  /** Has it hang, as a process that gets no processor: it takes connections, and answers nothing. */
  hang(): void {
    this.#process?.kill("SIGSTOP");
  }

  goOn(): void {
    this.#process?.kill("SIGCONT");
  }

  /** Has it end by itself. */
  async end(): Promise<void> {
    const p = this.#process!;
    const exit = once(p, "exit");
    p.kill("SIGTERM");
    await exit;
  }

  /** Ends it with kill -9. */
  async kill(): Promise<void> {
    await killed(this.#process);
  }

  app(options: AppOptions = {}): App {
    return new App({ url: this.url, token: this.token, context: 1, logger: quiet, ...options });
  }

  /** What a program finds in its environment to reach the node. */
  get env(): NodeJS.ProcessEnv {
    return { ...process.env, RAMET_NODE: this.url, RAMET_TOKEN: this.token, RAMET_CONTEXT: "1" };
  }
}

/** Ends a process with kill -9. */
export async function killed(p: ChildProcess | undefined): Promise<void> {
  if (!p || p.exitCode !== null || p.signalCode !== null) return;
  const exit = once(p, "exit");
  p.kill("SIGKILL");
  await exit;
}

export const quiet = { info() {}, warn() {} };

/** Runs an app until the test ends, or until it is told to stop. */
export function work(t: Pick<TestContext, "after">, app: App, options: RunOptions = {}): () => Promise<void> {
  const stopping = new AbortController();
  const running = app.run({ grace: 1, ...options, signal: stopping.signal });
  const stop = async () => {
    stopping.abort();
    await running;
    app.client.close();
  };
  t.after(stop);
  return stop;
}

/** A promise, and what fulfils it. */
export function promised<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((r) => (resolve = r));
  return { promise, resolve };
}
