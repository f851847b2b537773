import type { JobHandle } from "./handle.js";
import type { JobInput, Retry } from "./wire.js";

/** How jobs are to run. Times are in seconds. */
export interface JobOptions {
  /** How often it is tried again after an attempt that failed. Default: 0. */
  retries?: number;
  /** Which ends are tried again, and after what pauses: `{ delay: 60, factor: 3 }`. Default: all, with the node's pauses. */
  retry?: Retry;
  /** How long an attempt may take. Default: the node's, an hour. */
  timeout?: number;
  /** 1 to 9: tried highest first. Default: 0, the plain queue. */
  priority?: number;
  /** Only workers with these labels may take it. */
  affinity?: Record<string, string>;
  env?: Record<string, string>;
}

/** How one job is to run, and when. */
export interface SubmitOptions extends JobOptions {
  /** Its number. Default: the next free one. */
  id?: number;
  /** Not before that time. */
  notBefore?: Date;
  /** Jobs of the same caller that have to succeed first. */
  after?: readonly (JobHandle | number)[];
  /** Conditions that have to be met first, and how long they may take. */
  prerequisites?: string[];
  prerequisiteTimeout?: number;
  /** Only that runner may take it, by its number. */
  forRunner?: number;
  /** Another context that is to run it: "7" here, "7@acme" at a peer. */
  at?: string;
  traceId?: string;
}

/** A job as it is handed in. */
export function inputOf(type: string, args: unknown, o: SubmitOptions): Partial<JobInput> {
  const input: Record<keyof JobInput, unknown> | object = {
    script_type: type,
    script: JSON.stringify(args === undefined ? {} : args),
    id: o.id,
    retries: o.retries,
    retry: o.retry,
    timeout: o.timeout,
    priority: o.priority,
    affinity: o.affinity,
    env_vars: o.env,
    not_before: o.notBefore?.getTime(),
    dependends: o.after?.map((job) => (typeof job === "number" ? job : job.id)),
    prerequisites: o.prerequisites,
    prerequisite_timeout: o.prerequisiteTimeout,
    for_runner: o.forRunner,
    at: o.at,
    trace_id: o.traceId,
  };
  return input; // JSON leaves out what is undefined
}
