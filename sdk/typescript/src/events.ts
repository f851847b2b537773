import { RametError } from "./errors.js";

/** Bounds one event of a stream, in characters: the last one holds a job with its script. */
const maxEvent = 16 << 20;

/** A server-sent event. */
export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

/** Reads server-sent events from chunks of text, as the HTML standard has them. */
export async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let rest = "";
  let event: ServerEvent = { name: "", id: "", data: "" };
  for await (const chunk of chunks) {
    rest += chunk;
    let from = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
      const line = rest.slice(from, rest[end - 1] === "\r" && end > from ? end - 1 : end);
      from = end + 1;
      if (line === "") {
        if (event.name || event.data) yield { ...event, data: event.data.slice(0, -1) };
        event = { name: "", id: "", data: "" };
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon); // "" is a comment
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (field === "event") event.name = value;
      else if (field === "id") event.id = value;
      else if (field === "data") event.data += value + "\n";
    }
    rest = rest.slice(from);
    if (rest.length + event.data.length > maxEvent) throw new RametError("internal", `an event of the stream is longer than ${maxEvent} characters`);
  }
}
