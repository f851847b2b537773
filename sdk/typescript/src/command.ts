#!/usr/bin/env node
// This file is the command ramet-worker: it runs the app of a module as a worker.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { App, type RunOptions } from "./app.js";
import { RametError } from "./errors.js";

const usage = `Run the functions of a program as jobs, until SIGTERM or Ctrl-C.

Usage:
  ramet-worker [flags] FILE

FILE is a JavaScript module that exports an App.

Flags:
  --export NAME        which export is the app (default: the only one)
  --concurrency N      how many functions run at once (default 64)
  --lease SECONDS      how long a job stays with a worker that is not heard of (default 30)
  --grace SECONDS      how long functions may go on at the end, and one lease more where they do not listen (default 30)
  --label NAME=VALUE   by which jobs choose the worker; may be repeated
  --version TEXT       what the list of runners shows
  --help

The app has the node's address, the context and the token; $RAMET_NODE, $RAMET_CONTEXT,
$RAMET_TOKEN and $RAMET_KEY are for what it does not say.
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      export: { type: "string" },
      concurrency: { type: "string" },
      lease: { type: "string" },
      grace: { type: "string" },
      label: { type: "string", multiple: true },
      version: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  const [file, ...more] = positionals;
  if (!file || more.length > 0) throw new RametError("invalid", "want one FILE: the module that exports the app; see --help");
  const app = appOf((await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>, file, values.export);
  const options: RunOptions = { labels: labelsOf(values.label ?? []) };
  for (const name of ["concurrency", "lease", "grace"] as const) {
    if (values[name] !== undefined) options[name] = numberOf(name, values[name]);
  }
  if (values.version !== undefined) options.version = values.version;
  await app.run(options);
}

function appOf(module: Record<string, unknown>, file: string, name: string | undefined): App {
  if (name !== undefined) {
    const app = module[name];
    if (!App.is(app)) throw new RametError("invalid", `${file}: its export ${JSON.stringify(name)} is no App`);
    return app;
  }
  const apps = new Set(Object.values(module).filter(App.is));
  const [app] = apps;
  if (!app) throw new RametError("invalid", `${file} exports no App: want export const app = new App(…)`);
  if (apps.size > 1) throw new RametError("invalid", `${file} exports ${apps.size} Apps: say which with --export`);
  return app;
}

function labelsOf(list: string[]): Record<string, string> {
  return Object.fromEntries(
    list.map((text) => {
      const [name, value] = text.split("=", 2);
      if (!name || !value) throw new RametError("invalid", `--label ${JSON.stringify(text)}: want name=value`);
      return [name, value];
    }),
  );
}

function numberOf(name: string, text: string): number {
  const n = Number(text);
  if (text.trim() === "" || !(n >= 0)) throw new RametError("invalid", `--${name} ${JSON.stringify(text)}: want a number`);
  return n;
}

// A function that does not stop is left behind: so is what else keeps the process.
main().then(
  () => process.exit(0),
  (err: unknown) => {
    const known = err instanceof RametError || (err instanceof TypeError && "code" in err && String(err.code).startsWith("ERR_PARSE_ARGS"));
    console.error(known ? `ramet-worker: ${(err as Error).message}` : err);
    process.exit(known ? 2 : 1);
  },
);
