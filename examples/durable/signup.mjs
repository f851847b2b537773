// A sign-up that waits three days for a click.
import { TimedOut, step, wait } from "ramet";

const who = process.env.WHO;
const mail = (what) => step("mail", (s) => console.log(`to ${who}: ${what} (key of ${s.key.length} letters)`));

await mail("please click");
try {
  const click = await wait("click", { timeout: Number(process.env.PATIENCE ?? 3 * 86400) });
  await mail(`welcome, you came from ${click.from}`);
} catch (err) {
  if (!(err instanceof TimedOut)) throw err;
  await mail("you did not click, so we have forgotten you");
}
