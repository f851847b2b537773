// The web server: a request submits a job, and its progress is shown while a worker runs it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { RametError, type JobHandle } from "ramet";
import { app, checkLinks } from "./jobs.js";

const page = `<!doctype html>
<meta charset="utf-8"><title>Links</title>
<form><textarea name="urls" rows="8" cols="80" placeholder="one URL a line"></textarea><br><button>Check</button></form>
<pre></pre>
<script>
const out = document.querySelector("pre");
document.querySelector("form").onsubmit = async (e) => {
  e.preventDefault();
  const urls = e.target.urls.value.split("\\n").filter((url) => url.trim());
  const made = await fetch("/checks", { method: "POST", body: JSON.stringify({ urls }) });
  out.textContent = "";
  const progress = new EventSource(made.headers.get("location") + "/progress");
  progress.onmessage = ({ data }) => (out.textContent += data + "\\n");
  progress.addEventListener("end", ({ data }) => (progress.close(), (out.textContent += data + "\\n")));
};
</script>
`;

const server = createServer((req, res) => {
  answer(req, res).catch((err: unknown) => {
    const missing = err instanceof RametError && (err.code === "not_found" || err.code === "invalid");
    if (!missing) console.error(err);
    if (res.headersSent) return res.destroy();
    return send(res, missing ? 404 : 502, { error: err instanceof RametError ? err.message : "something went wrong" });
  });
});

async function answer(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  const [, first, key, last] = new URL(req.url ?? "/", "http://here").pathname.split("/");
  if (req.method === "GET" && first === "") return res.setHeader("content-type", "text/html").end(page);
  if (first !== "checks") return send(res, 404, { error: "no such page" });
  if (req.method === "POST" && !key) return submit(req, res);
  if (req.method !== "GET" || !key) return send(res, 405, { error: "want GET of a check, or POST of a new one" });

  const check = app.handle(key);
  const job = await check.show();
  if (job.script_type !== checkLinks.name) return send(res, 404, { error: "no such check" }); // a job of somebody else
  if (last === "progress") return progress(check, req, res);
  return send(res, 200, { status: job.status, result: job.result, error: job.error });
}

async function submit(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  const urls = urlsOf(text);
  if (!urls) return send(res, 400, { error: 'want {"urls": ["http://…", …]}' });
  const { key } = await checkLinks.submit({ urls });
  res.setHeader("location", `/checks/${key}`);
  return send(res, 202, { key });
}

/** Passes the job's log on, line by line, until the job has ended. */
async function progress(check: JobHandle, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const gone = new AbortController();
  req.on("close", () => gone.abort());
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  res.flushHeaders();
  try {
    for await (const { line } of check.logs({ signal: gone.signal })) res.write(`data: ${line}\n\n`);
    const { status, result } = await check.show();
    res.end(`event: end\ndata: ${JSON.stringify({ status, result })}\n\n`);
  } catch (err) {
    if (!gone.signal.aborted) throw err; // else nobody is there to read it
  }
}

function urlsOf(text: string): string[] | undefined {
  try {
    const { urls } = JSON.parse(text) as { urls?: unknown };
    return Array.isArray(urls) && urls.length > 0 && urls.every((url) => URL.canParse(String(url))) ? urls.map(String) : undefined;
  } catch {
    return undefined;
  }
}

function send(res: ServerResponse, status: number, body: object): void {
  res.statusCode = status;
  res.setHeader("content-type", "application/json").end(JSON.stringify(body) + "\n");
}

server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const at = server.address();
  console.log(`listening on http://127.0.0.1:${typeof at === "object" ? at?.port : at}`);
});
