// The app's functions that take their time. The web server submits them, the worker runs them.
import { App } from "ramet";

// Where the node is, and as whom: $RAMET_NODE, $RAMET_CONTEXT, $RAMET_TOKEN.
export const app = new App();

export interface Check {
  urls: string[];
}

/** Asks for pages one by one, and counts those that are not there. */
export const checkLinks = app.job("check-links", { retries: 3, timeout: 300 }, async ({ urls }: Check, job) => {
  let broken = 0;
  for (const [i, url] of urls.entries()) {
    const answer = await fetch(url, { signal: job.signal });
    await answer.body?.cancel();
    if (!answer.ok) broken++;
    job.log(`${i + 1} of ${urls.length}: ${answer.status} ${url}`);
  }
  return { checked: urls.length, broken };
});
