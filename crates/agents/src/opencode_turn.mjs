// Plug-in of one headless turn of OpenCode. It goes on retrying a refused request for ever and prints nothing of it.
// This tells of each retry on standard output, in a line of JSON, and ends the turn when waiting here makes no sense:
// when the provider asks for a longer wait than OpenCode's own, which is how a limit shows, or after some tries.

const TRIES_MAX = 6;
/** The longest that OpenCode waits by itself before try `n + 1`, in milliseconds: it doubles, and up to a quarter is chance. */
const ownWait = (n) => 2_000 * 2 ** (n - 1) * 1.25;
/** How much longer than its own a wait must be to be the provider's, in milliseconds. */
const SLACK_MS = 1_500;

export const Carillon = async ({ client }) => {
  let gaveUp = false;
  return {
    event: async ({ event }) => {
      const status = event.type === "session.status" ? event.properties.status : undefined;
      if (status?.type !== "retry" || gaveUp) return;
      const { attempt, message, next, action } = status;
      const named = next - Date.now() > ownWait(attempt) + SLACK_MS;
      // OpenCode's own plans tell of their limits by what the user could do about them.
      gaveUp = named || action !== undefined || attempt >= TRIES_MAX;
      const told = { type: "carillon", event: gaveUp ? "gave_up" : "retry", attempt, message, next, named, action: action?.reason };
      console.log(JSON.stringify(told));
      if (gaveUp) await client.session.abort({ path: { id: await root(client, event.properties.sessionID) } });
    },
  };
};

/** A sub-agent has a session of its own: the one that the turn began in is the one to end. */
async function root(client, id) {
  for (let at = 0; at < 16; at += 1) {
    const { data } = await client.session.get({ path: { id } });
    if (!data?.parentID) break;
    id = data.parentID;
  }
  return id;
}
