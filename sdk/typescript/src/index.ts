/**
 * Ramet for TypeScript and JavaScript: submit jobs, and run your own functions as jobs.
 *
 *     const app = new App({ url: "http://127.0.0.1:7480", context: 7, token });
 *     const mail = app.job("mail", { retries: 3, timeout: 60 }, async (args: Mail, job) => { … });
 *     await mail.submit({ to: "x" });  // in the web server
 *     await app.run();                 // in the worker
 */
export { App, type AppOptions, type JobFunction, type RequestOptions, type RunOptions } from "./app.js";
export { Client, type AllOptions, type ClientOptions, type JobRef, type Waiting } from "./client.js";
export {
  ChannelError, StepFailed, Steps, TimedOut, approval, call, gather, now, random, sleep, step, uuid, version, wait, type ApprovalOptions,
  type CallOptions, type Decision, type Step, type StepOptions, type WaitOptions,
} from "./durable.js";
export { Fail, JobStopped, PartlyRefused, RametError, RetryAfter, type Code, type Why } from "./errors.js";
export { FlowHandle } from "./flow.js";
export { JobHandle } from "./handle.js";
export type { Condition, Tagged } from "./http.js";
export type { Job } from "./job.js";
export { Suspended } from "./memory.js";
export type { TokenSource } from "./nodes.js";
export type { Handler, Middleware } from "./perform.js";
export type { Logger } from "./shift.js";
export type { JobOptions, SubmitOptions } from "./submit.js";
export { keyToken } from "./token.js";
export type {
  Bulk, BulkStatus, Fault, FlowExplanation, FlowInput, FlowView, Input, Job as JobRecord, JobExplanation, JobFilter, JobQuery, JobStatus,
  Log, Reason, Retry,
} from "./wire.js";
/** The shapes of the wire, for those who call `Client` themselves. */
export type * as wire from "./wire.js";
