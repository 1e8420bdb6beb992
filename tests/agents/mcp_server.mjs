// A small MCP server on standard input and output, for agent CLIs to call. Every message and the variables that matter go
// into the file that is its argument, one JSON object on a line.

import fs from "node:fs";
import readline from "node:readline";

const [log] = process.argv.slice(2);
const note = (entry) => fs.appendFileSync(log, `${JSON.stringify(entry)}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const text = { type: "string" };
const TOOLS = [
  {
    name: "ask_agent",
    description: "Asks another agent and waits for its final answer.",
    inputSchema: { type: "object", properties: { agent: text, prompt: text, wait_ms: { type: "number" } }, required: ["agent", "prompt"] },
  },
];

note({ started: { CARILLON_RUN: process.env.CARILLON_RUN, TEST_SECRET: process.env.TEST_SECRET, args: process.argv.slice(2) } });

for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  const message = JSON.parse(line);
  note({ message });
  if (message.id === undefined || message.method === undefined) continue;
  answer(message).then(send);
}

async function answer({ id, method, params }) {
  if (method === "initialize") {
    return { id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } } };
  }
  if (method === "ping") return { id, result: {} };
  if (method === "tools/list") return { id, result: { tools: TOOLS } };
  if (method !== "tools/call") return { id, error: { code: -32601, message: `no method ${method}` } };
  const { agent, prompt, wait_ms: wait } = params.arguments ?? {};
  if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
  return { id, result: { content: [{ type: "text", text: `${agent} says ANSWER-42 to ${prompt}` }] } };
}
