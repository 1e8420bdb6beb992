// Plug-in of an agent's terminal with OpenCode: tells Carillon of turns that end, of prompts, of questions to the user and
// of limits. `HOOK` stands above: the program to call with the event's name and a JSON object on its standard input.

import { spawn } from "node:child_process";

/** The longest that OpenCode waits by itself before try `n + 1`, in milliseconds, with some slack. A longer wait is the provider's. */
const ownWait = (n) => 2_000 * 2 ** (n - 1) * 1.25 + 1_500;

export const Carillon = async ({ client }) => {
  const children = new Set();
  let told = Promise.resolve();
  const serve = {
    "session.created": ({ info }) => (info.parentID ? void children.add(info.id) : { session: info.id }),
    "session.idle": async ({ sessionID }) => ({ session: sessionID, text: await lastText(client, sessionID) }),
    "permission.asked": (asked) => ({ session: asked.sessionID, what: asked.title ?? asked.permission ?? asked.type }),
    "session.status": ({ sessionID, status }) => {
      if (status.type === "busy") return { session: sessionID, busy: true };
      if (status.type !== "retry") return undefined;
      const named = status.next - Date.now() > ownWait(status.attempt);
      return { session: sessionID, message: status.message, next: status.next, named, action: status.action?.reason };
    },
  };
  return {
    event: async ({ event }) => {
      if (!(event.type in serve)) return;
      // One after the other: a beginning that overtook the end before it would leave the agent at work for ever.
      told = told.then(async () => {
        const data = await serve[event.type](event.properties);
        // What a sub-agent does is part of its parent's turn.
        if (data && !children.has(data.session)) await tell(event.type, data);
      });
      // What could not be told of one event is no reason to keep quiet about the next.
      told = told.catch(() => {});
    },
  };
};

/** What was said last; nothing when that cannot be had: that the turn is over is told all the same. */
async function lastText(client, id) {
  const { data } = await client.session.messages({ path: { id } }).catch(() => ({}));
  const last = (data ?? []).filter((message) => message.info.role === "assistant").at(-1);
  if (!last || last.info.error) return "";
  return last.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

/** Ends when the program has told it, which takes two seconds at most; also when it cannot be started: nobody to tell is no
 * reason to disturb the user. */
function tell(event, data) {
  const [program, ...args] = HOOK;
  const child = spawn(program, [...args, event], { stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(data));
  return new Promise((resolve) => child.once("close", resolve).once("error", resolve));
}
