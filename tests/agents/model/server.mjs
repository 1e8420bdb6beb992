// A scripted stand-in for the APIs of language models, so that agent CLIs can be tested without the internet.
//
// It listens on 127.0.0.1 and speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, streamed or
// not. A script is { turns: [TURN], default: TURN, side: TURN | false, models: [id] }: the first turn that fits a request
// and is not used up answers it. `side` answers requests that offer no tools (titles, summaries); false sends them to the
// turns.
//
// A TURN's conditions: match (searched in the user's last message), after_tool (true, false, or searched in the tool
// results that the request ends in), system, model, api, times (1 unless said; 0: without limit), when (a function, asked last).
// Its answer: text ({{user}}, {{tool_result}}, {{model}}, {{n}} are filled in), thinking, tool_calls [{name, arguments, id}]
// (name "~EXPRESSION" is the first offered tool that fits), usage {input, output}, stop, headers.
// Its timing: delay and chunk_delay in milliseconds, chunk in characters, hold NAME (until release(NAME)).
// Its failures: error {status, type, message, headers, details, body} or a function that answers one, stream_error {type,
// message} after the text,
// drop "before" (no answer at all) or "mid" (half of it). {{now+N}} in an error or a header is the Unix time in N seconds.

import http from "node:http";
import { gunzipSync } from "node:zlib";
import { Answer, errorBody, newId } from "./answers.mjs";
import { parse, Request } from "./requests.mjs";

export class ScriptedModel {
  constructor(script) {
    this.log = [];
    this.gates = new Map();
    this.load(script);
    this.server = http.createServer((request, response) => this.serve(request, response).catch((error) => response.destroy(error)));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async stop() {
    for (const gate of this.gates.values()) gate.open();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Takes a new script; counts and the log begin anew. */
  load(script) {
    this.script = script;
    this.used = (script.turns ?? []).map(() => 0);
    this.log.length = 0;
  }

  /** Lets the requests go whose turn says `hold: name`. */
  release(name) {
    this.gate(name).open();
  }

  /** Resolves when a request is held at the gate. */
  held(name) {
    return this.gate(name).reached;
  }

  gate(name) {
    if (!this.gates.has(name)) {
      const gate = {};
      gate.passed = new Promise((resolve) => (gate.open = resolve));
      gate.reached = new Promise((resolve) => (gate.reach = resolve));
      this.gates.set(name, gate);
    }
    return this.gates.get(name);
  }

  choose(request) {
    const { turns = [], side = { text: "side" } } = this.script;
    if (request.tools.length === 0 && side !== false) return side;
    const at = turns.findIndex((turn, index) => {
      const times = turn.times ?? 1;
      return (times === 0 || this.used[index] < times) && fits(turn, request);
    });
    if (at < 0) return this.script.default ?? { text: "(unscripted)" };
    this.used[at] += 1;
    return turns[at];
  }

  async serve(incoming, response) {
    const path = incoming.url.split("?")[0];
    const body = await readBody(incoming);
    if (incoming.method !== "POST") return reply(response, ...this.get(path));
    const entry = { number: this.log.length + 1, path, body };
    this.log.push(entry);
    const request = parse(path, body);
    if (request === null) return reply(response, 404, { error: { message: `no such endpoint: ${path}`, type: "not_found_error" } });
    if (!(request instanceof Request)) return reply(response, 200, request);
    const turn = this.choose(request);
    Object.assign(entry, { api: request.api, user: request.user, system: request.system, tools: request.tools.map((tool) => tool.full), toolResults: request.toolResults });
    if (turn.hold) {
      this.gate(turn.hold).reach();
      await this.gate(turn.hold).passed;
    }
    if (turn.delay) await pause(turn.delay);
    if (turn.drop === "before") return response.destroy();
    if (turn.error) {
      const scripted = typeof turn.error === "function" ? turn.error() : turn.error;
      const error = { ...scripted, message: fillTime(scripted.message ?? "scripted error") };
      entry.status = error.status ?? 500;
      const refusal = error.body ? fillTime(error.body, true) : errorBody(request.api, error);
      return reply(response, error.status ?? 500, refusal, fillTime(error.headers ?? {}));
    }
    const answer = new Answer(turn, request, entry.number);
    entry.unknownTools = answer.unknownTools;
    const headers = fillTime(turn.headers ?? {});
    return request.stream ? stream(response, answer, turn, headers) : reply(response, 200, answer.json(), headers);
  }

  get(path) {
    if (!path.endsWith("/models")) return [404, { error: { message: "not found", type: "not_found_error" } }];
    const ids = this.script.models ?? ["stub-model"];
    const data = ids.map((id) => ({ id, object: "model", type: "model", display_name: id, created: 0, owned_by: "stub" }));
    return [200, { object: "list", has_more: false, data, models: ids.map((id) => ({ name: `models/${id}` })) }];
  }
}

function fits(turn, request) {
  if (turn.api && turn.api !== request.api) return false;
  for (const [expression, text] of [[turn.match, request.user], [turn.model, request.model], [turn.system, request.system]]) {
    if (expression && !new RegExp(expression, "s").test(text ?? "")) return false;
  }
  const { after_tool: after } = turn;
  const follows = (expression) => request.toolResults.some((result) => new RegExp(expression, "s").test(result));
  if (typeof after === "string" ? !follows(after) : after !== undefined && after !== request.toolResults.length > 0) return false;
  return turn.when?.() ?? true;
}

/** `{{now+N}}` as seconds of the Unix clock: a number where it is the whole of a value in a body, else in the text. */
function fillTime(value, inBody = false) {
  if (Array.isArray(value)) return value.map((item) => fillTime(item, inBody));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillTime(item, inBody)]));
  if (typeof value !== "string") return value;
  const at = (offset) => Math.floor(Date.now() / 1_000) + Number(offset ?? 0);
  const whole = /^\{\{now([+-]\d+)?\}\}$/.exec(value);
  if (whole && inBody) return at(whole[1]);
  return value.replace(/\{\{now([+-]\d+)?\}\}/g, (_, offset) => String(at(offset)));
}

async function readBody(incoming) {
  const pieces = [];
  for await (const piece of incoming) pieces.push(piece);
  const raw = Buffer.concat(pieces);
  const text = (incoming.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString();
  try {
    return JSON.parse(text || "{}");
  } catch {
    return { undecoded: text.slice(0, 200) };
  }
}

function reply(response, status, body, headers = {}) {
  const data = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "request-id": newId("req_"), ...headers, "content-length": Buffer.byteLength(data) });
  response.end(data);
}

async function stream(response, answer, turn, headers) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", "request-id": newId("req_"), ...headers });
  const events = [...answer.events()];
  const cut = turn.drop === "mid" ? Math.max(1, Math.floor(events.length / 2)) : events.length;
  for (const [name, data] of events.slice(0, cut)) {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    await new Promise((resolve) => response.write(`${name ? `event: ${name}\n` : ""}data: ${text}\n\n`, resolve));
    if (turn.chunk_delay) await pause(turn.chunk_delay);
  }
  if (turn.drop === "mid") response.destroy();
  else response.end();
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
