import * as http from "node:http";
import * as https from "node:https";
import { RametError } from "./errors.js";

// This file chooses the node that is asked. All requests go to one; where that gives no answer, breaks one off or says that
// it has no time (502, 503, 504), those that follow go to the next in turn.

/** How long the making of a connection may take where there is another node, in milliseconds: a machine that is off says nothing. */
const dial = 3_000;
/** How long a request waits, as those do that wait for jobs, until its node is asked whether it lives. */
const quiet = 5_000;
/** How long a node may take to say so: one with much to do may. */
const patience = 10_000;
/** For how long a node that has failed is none that is asked instead of one that wants to be left alone. */
const lately = 30_000;

/** Gives the token for a request to the node of that name; it is called for each, so it should remember. */
export type TokenSource = string | ((node: string) => string | Promise<string>);

/** Where a node is, and what it is called: "" where that is not said. */
export interface Address {
  url: URL;
  name: string;
}

/** Reads addresses: a list, or a text with commas between them. Behind a "#" may stand the node's name. */
export function addressesOf(list: string | readonly string[]): Address[] {
  const texts = [list].flat().flatMap((text) => text.split(","));
  if (texts.length === 0) throw new RametError("invalid", "url: want the address of one node at least");
  return texts.map((text) => {
    const [address = "", name = ""] = text.trim().split("#", 2);
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.search || url.username || url.password) {
      throw new RametError("invalid", "url: want an address such as http://localhost:7480, or several with commas between them");
    }
    return { url, name };
  });
}

/** A request that waits for an answer, or is being answered. */
interface Flight {
  readonly since: number;
  end(err: Error): void;
}

/** One of the nodes, as `Nodes.turn` gives it. */
export class Node {
  readonly url: URL;
  readonly name: string;
  readonly agent: http.Agent;
  readonly request: typeof http.request;
  readonly flights = new Set<Flight>();
  /** When it was left last, unless it has answered since. */
  failed = -Infinity;
  #lived = -Infinity;
  #asking = false;

  constructor({ url, name }: Address) {
    this.url = url;
    this.name = name;
    const secure = url.protocol === "https:";
    // Idle connections are let go before the node does that, which is after two minutes.
    const how = { keepAlive: true, timeout: 60_000, scheduling: "lifo" } as const;
    this.agent = secure ? new https.Agent(how) : new http.Agent(how);
    this.request = secure ? https.request : http.request;
  }

  /** Where requests to a path go. */
  to(path: string): http.RequestOptions {
    const { protocol, hostname, port, pathname } = this.url;
    return { protocol, hostname: hostname.replace(/^\[|\]$/g, ""), port, path: pathname.replace(/\/$/, "") + path, agent: this.agent };
  }

  /** Asks it whether it lives, where requests have waited for long; where it says nothing at all, they end. */
  async look(): Promise<void> {
    const long = performance.now() - quiet;
    if (this.#asking || this.#lived > long || ![...this.flights].some((f) => f.since < long)) return;
    this.#asking = true;
    const lives = await new Promise<boolean>((resolve) => {
      const req = this.request({ ...this.to("/health"), signal: AbortSignal.timeout(patience) });
      req.on("error", () => resolve(false));
      req.on("response", (answer) => {
        answer.resume().on("error", () => {});
        resolve(true); // whatever it answers
      });
      req.end();
    });
    this.#asking = false;
    if (lives) this.#lived = performance.now();
    else for (const f of this.flights) f.end(new Error(`it takes requests, and has not answered GET /health for ${patience / 1000} s`));
  }
}

/** The nodes of one board. */
export class Nodes {
  readonly #nodes: Node[];
  readonly #token: TokenSource;
  #moves = 0; // from one to the next
  #watch: NodeJS.Timeout | undefined;

  constructor(addresses: Address[], token: TokenSource) {
    this.#nodes = addresses.map((a) => new Node(a));
    this.#token = token;
  }

  get count(): number {
    return this.#nodes.length;
  }

  /** Lets go of idle connections. */
  close(): void {
    for (const node of this.#nodes) node.agent.destroy();
  }

  /** The node that is asked now, and what has later requests go to the next one, unless somebody else has seen to that. */
  turn(): { node: Node; leave: () => void } {
    const moves = this.#moves;
    const node = this.#nodes[moves % this.count]!;
    const leave = () => {
      node.failed = performance.now();
      if (this.#moves === moves) this.#moves++;
    };
    return { node, leave };
  }

  /** Whether there is a node beside this one that has not failed just now. */
  another(than: Node): boolean {
    return this.#nodes.some((n) => n !== than && performance.now() - n.failed > lately);
  }

  token(node: Node): string | Promise<string> {
    return typeof this.#token === "string" ? this.#token : this.#token(node.name);
  }

  /** Has a request end where its node does nothing any more; with one node there is none to go to. */
  watch(node: Node, req: http.ClientRequest, end: (err: Error) => void): void {
    if (this.count === 1) return;
    const flight = { since: performance.now(), end };
    node.flights.add(flight);
    req.on("close", () => node.flights.delete(flight));
    req.on("socket", (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => req.destroy(new Error(`no connection for ${dial / 1000} s`)), dial);
      for (const event of ["connect", "close"]) socket.once(event, () => clearTimeout(timer));
    });
    this.#watch ??= setInterval(() => this.#look(), quiet / 5).unref();
  }

  #look(): void {
    for (const node of this.#nodes) void node.look();
    if (this.#nodes.some((n) => n.flights.size > 0)) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }
}
