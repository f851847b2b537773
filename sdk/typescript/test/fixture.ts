// This file is an app that tests run by the command ramet-worker.
import { App } from "ramet";

export const app = new App();

app.job("patient", async (_args: object, job) => {
  job.log("attempt %d", job.attempt);
  if (job.attempt === 1) await new Promise((resolve) => setTimeout(resolve, 600_000));
});
