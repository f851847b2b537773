import { createPrivateKey, randomBytes, sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { RametError } from "./errors.js";

/** How long a token is good, and how long before its end the next is made, in seconds. */
const life = 3600;
const early = 300;

/** An Ed25519 private key in PKCS #8 is this and the 32 bytes of its seed (RFC 8410). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Signs tokens with an actor's key file, as `ramet token` does, for the node of that name: for programs that run
 * longer than a token is good.
 */
export function keyToken(file: string, node: string): () => Promise<string> {
  if (!node) throw new RametError("invalid", "a token is for one node: name it");
  let token = "";
  let until = 0; // by a clock that nobody sets
  return async () => {
    if (performance.now() > until) {
      token = signed(JSON.parse(await readFile(file, "utf8")) as KeyFile, file, node);
      until = performance.now() + (life - early) * 1000;
    }
    return token;
  };
}

interface KeyFile {
  actor?: number;
  private_key?: string;
}

function signed(key: KeyFile, file: string, node: string): string {
  const seed = Buffer.from(key.private_key ?? "", "hex");
  if (!key.actor || seed.length !== 32) throw new RametError("invalid", `${file} is no key file of an actor; ramet actor new makes one`);
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: String(key.actor), aud: [node], iat: now, exp: now + life, jti: randomBytes(10).toString("hex") };
  const text = `${encoded({ alg: "EdDSA", typ: "JWT" })}.${encoded(claims)}`;
  const secret = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  return `${text}.${sign(null, Buffer.from(text), secret).toString("base64url")}`;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
