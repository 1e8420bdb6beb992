// What the scripted model needs to know of one request, whatever API it came by.

const REMINDER = /<system-reminder>.*?<\/system-reminder>/gs;

/** The text of a content: a string, a part, or a list of parts. */
export function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join("\n");
  return content.text ?? "";
}

function lastUser(contents) {
  const texts = contents.map((content) => textOf(content).replace(REMINDER, "").trim()).filter(Boolean);
  return texts.at(-1) ?? "";
}

export class Request {
  constructor(api, body, stream, model) {
    Object.assign(this, { api, body, stream, model, tools: [], system: "", user: "", toolResults: [] });
    READERS[api](this, body);
  }

  addTool(name, space, kind = "function") {
    const full = (space && !name.startsWith(space) ? `${space}__` : "") + name;
    this.tools.push({ full, wire: name, space, kind });
  }

  /** The tool for a script's name; `~EXPRESSION` is the first offered one whose full name fits. */
  pickTool(name) {
    const fits = (full) => name.startsWith("~") && new RegExp(name.slice(1)).test(full);
    const offered = this.tools.find((tool) => [tool.full, tool.wire].includes(name) || fits(tool.full));
    if (offered) return offered;
    // Some clients name tools in text alone at first and load them on demand.
    const named = JSON.stringify(this.body).match(/mcp__[\w-]+/g) ?? [];
    const wire = named.find(fits);
    return wire ? { wire, kind: "function" } : { wire: name.replace(/^~/, ""), kind: "function", unknown: true };
  }
}

const READERS = { anthropic, responses, chat, gemini };

function anthropic(request, body) {
  request.system = textOf(body.system);
  for (const tool of body.tools ?? []) request.addTool(tool.name ?? "");
  const messages = body.messages ?? [];
  for (const message of messages.toReversed()) {
    if (message.role === "assistant") break;
    if (!Array.isArray(message.content)) continue;
    const results = message.content.filter((part) => part.type === "tool_result").map((part) => textOf(part.content));
    request.toolResults.unshift(...results);
  }
  request.user = lastUser(messages.filter((message) => message.role === "user").map((message) => message.content));
}

function responses(request, body) {
  request.system = body.instructions ?? "";
  const addTools = (tools) => {
    for (const tool of tools ?? []) {
      if (tool.type === "namespace") for (const inner of tool.tools ?? []) request.addTool(inner.name ?? "", tool.name, inner.type);
      else if (tool.name) request.addTool(tool.name, undefined, tool.type);
    }
  };
  addTools(body.tools);
  const input = typeof body.input === "string" ? [{ type: "message", role: "user", content: body.input }] : (body.input ?? []);
  for (const item of input) {
    if (item.type === "additional_tools") addTools(item.tools);
    if (["system", "developer"].includes(item.role)) request.system += `\n${textOf(item.content)}`;
  }
  for (const item of input.toReversed()) {
    const kind = item.type ?? "message";
    if (kind.endsWith("_output")) request.toolResults.unshift(textOf(item.output));
    else if (kind.endsWith("_call") || kind === "reasoning" || item.role === "assistant") break;
  }
  request.user = lastUser(input.filter((item) => item.role === "user").map((item) => item.content));
}

function chat(request, body) {
  for (const tool of body.tools ?? []) request.addTool(tool.function?.name ?? "");
  const messages = body.messages ?? [];
  request.system = messages.filter((message) => ["system", "developer"].includes(message.role)).map((message) => textOf(message.content)).join("\n");
  for (const message of messages.toReversed()) {
    if (message.role === "tool") request.toolResults.unshift(textOf(message.content));
    else if (message.role === "assistant") break;
  }
  request.user = lastUser(messages.filter((message) => message.role === "user").map((message) => message.content));
}

function gemini(request, body) {
  for (const group of body.tools ?? []) for (const tool of group.functionDeclarations ?? []) request.addTool(tool.name ?? "");
  request.system = textOf(body.systemInstruction?.parts ?? body.systemInstruction);
  const contents = body.contents ?? [];
  for (const content of contents.toReversed()) {
    if (content.role === "model") break;
    for (const part of (content.parts ?? []).toReversed()) {
      const response = part.functionResponse?.response;
      if (response) request.toolResults.unshift(typeof response.output === "string" ? response.output : JSON.stringify(response));
    }
  }
  request.user = lastUser(contents.filter((content) => content.role === "user").map((content) => (content.parts ?? []).map((part) => part.text ?? "")));
}

/** The request that a path and a body make; a plain object is the answer to a count of tokens; null is none of ours. */
export function parse(path, body) {
  const bare = path.replace(/^\/(v1beta|v1alpha|v1)(?=\/)/, "");
  const model = body.model ?? "";
  const stream = Boolean(body.stream);
  if (bare === "/messages/count_tokens") return { input_tokens: Math.floor(JSON.stringify(body).length / 4) };
  if (bare === "/messages") return new Request("anthropic", body, stream, model);
  if (bare === "/responses") return new Request("responses", body, stream, model);
  if (bare === "/chat/completions") return new Request("chat", body, stream, model);
  const [, name, method] = /^\/models\/([^:]+):(\w+)$/.exec(bare) ?? [];
  if (method === "countTokens") return { totalTokens: Math.floor(JSON.stringify(body).length / 4) };
  if (method === "generateContent" || method === "streamGenerateContent") return new Request("gemini", body, method.startsWith("stream"), name);
  return null;
}
