import type { Client, Waiting } from "./client.js";
import type { FlowDone, FlowExplanation, FlowView } from "./wire.js";

/** A flow that was submitted. */
export class FlowHandle {
  /** The flow's key, as "flow:31". */
  readonly key: string;
  readonly id: number;
  readonly #client: Client;

  constructor(client: Client, id: number) {
    this.id = id;
    this.key = `flow:${id}`;
    this.#client = client;
  }

  /** The flow with its steps as it stands. */
  show(signal?: AbortSignal): Promise<FlowView> {
    return this.#client.showFlow(this.id, signal);
  }

  /** The flow once it has ended, well or badly (its status is "finished" or "error"), or as it stands after the timeout. */
  wait(waiting?: Waiting): Promise<FlowView> {
    return this.#client.waitFlow(this.id, waiting);
  }

  /** Ends what the flow has not begun, and tells what runs to stop. */
  cancel(signal?: AbortSignal): Promise<FlowDone> {
    return this.#client.cancelFlow(this.id, signal);
  }

  /** Starts again what ended in error, keeping checkpoints; with `failed` what failed, too. */
  retry(options?: { failed?: boolean; signal?: AbortSignal }): Promise<FlowDone> {
    return this.#client.retryFlow(this.id, options);
  }

  /** Says what the flow waits for, who holds it, and what will wake it. */
  explain(signal?: AbortSignal): Promise<FlowExplanation> {
    return this.#client.explainFlow(this.id, signal);
  }
}
