// A scripted turn made concrete for one request: events of a stream, or one JSON body.

import { randomBytes } from "node:crypto";

export const newId = (prefix) => prefix + randomBytes(12).toString("hex");
const seconds = () => Math.floor(Date.now() / 1_000);

export class Answer {
  constructor(turn, request, number) {
    const values = { user: request.user, tool_result: request.toolResults.join("\n"), model: request.model, n: String(number) };
    this.turn = turn;
    this.request = request;
    this.text = Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`{{${name}}}`, value ?? ""), turn.text ?? "");
    this.thinking = turn.thinking ?? "";
    this.calls = (turn.tool_calls ?? []).map((call) => ({ ...request.pickTool(call.name), args: call.arguments ?? {}, id: call.id }));
    this.unknownTools = this.calls.filter((call) => call.unknown).map((call) => call.wire);
    this.input = turn.usage?.input ?? 100;
    this.output = turn.usage?.output ?? 20;
  }

  chunks(text) {
    const size = this.turn.chunk ?? 24;
    const count = Math.max(1, Math.ceil(text.length / size));
    return Array.from({ length: count }, (_, at) => text.slice(at * size, (at + 1) * size));
  }

  /** Whether there is text to say beside calls of tools. */
  get speaks() {
    return this.text !== "" || this.calls.length === 0;
  }

  /** Pairs of an event's name (or null) and its data. */
  events() {
    return STREAMS[this.request.api](this);
  }

  json() {
    return BODIES[this.request.api](this);
  }
}

const STREAMS = { anthropic: anthropicEvents, responses: responsesEvents, chat: chatEvents, gemini: geminiEvents };
const BODIES = { anthropic: anthropicBody, responses: responsesBody, chat: chatBody, gemini: (answer) => geminiChunk(answer, geminiParts(answer), true) };

// Anthropic Messages

function anthropicBody(answer) {
  const content = [];
  if (answer.thinking) content.push({ type: "thinking", thinking: answer.thinking, signature: "stub" });
  if (answer.speaks) content.push({ type: "text", text: answer.text });
  for (const call of answer.calls) content.push({ type: "tool_use", id: call.id ?? newId("toolu_"), name: call.wire, input: call.args });
  return {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model: answer.request.model,
    content,
    stop_sequence: null,
    stop_reason: answer.turn.stop ?? (answer.calls.length > 0 ? "tool_use" : "end_turn"),
    usage: { input_tokens: answer.input, output_tokens: answer.output, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
}

function* anthropicEvents(answer) {
  const whole = anthropicBody(answer);
  const event = (type, data) => [type, { type, ...data }];
  yield event("message_start", { message: { ...whole, content: [], stop_reason: null, usage: { ...whole.usage, output_tokens: 1 } } });
  for (const [index, block] of whole.content.entries()) {
    const empty = { text: { type: "text", text: "" }, thinking: { type: "thinking", thinking: "", signature: "" }, tool_use: { ...block, input: {} } };
    yield event("content_block_start", { index, content_block: empty[block.type] });
    for (const delta of anthropicDeltas(answer, block)) yield event("content_block_delta", { index, delta });
    yield event("content_block_stop", { index });
  }
  if (answer.turn.stream_error) return yield event("error", { error: answer.turn.stream_error });
  yield event("message_delta", { delta: { stop_reason: whole.stop_reason, stop_sequence: null }, usage: { output_tokens: answer.output } });
  yield event("message_stop", {});
}

function anthropicDeltas(answer, block) {
  if (block.type === "text") return answer.chunks(block.text).map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use") return answer.chunks(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  const deltas = answer.chunks(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking }));
  return [...deltas, { type: "signature_delta", signature: block.signature }];
}

// OpenAI Responses

function responsesItems(answer) {
  const items = [];
  if (answer.thinking) items.push({ type: "reasoning", id: newId("rs_"), summary: [{ type: "summary_text", text: answer.thinking }], encrypted_content: "stub" });
  if (answer.speaks) items.push({ type: "message", id: newId("msg_"), role: "assistant", status: "completed", content: [{ type: "output_text", text: answer.text, annotations: [] }] });
  for (const call of answer.calls) {
    const item = { id: newId("fc_"), call_id: call.id ?? newId("call_"), name: call.wire, status: "completed" };
    if (call.kind === "custom") items.push({ ...item, type: "custom_tool_call", input: call.args.input ?? JSON.stringify(call.args) });
    else items.push({ ...item, type: "function_call", arguments: JSON.stringify(call.args), ...(call.space ? { namespace: call.space } : {}) });
  }
  return items;
}

function response(answer, id, status, output) {
  const usage = {
    input_tokens: answer.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: answer.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: answer.input + answer.output,
  };
  return { id, object: "response", created_at: seconds(), status, model: answer.request.model, output, parallel_tool_calls: false, tools: [], error: null, usage: status === "in_progress" ? null : usage };
}

function responsesBody(answer) {
  return response(answer, newId("resp_"), "completed", responsesItems(answer));
}

function* responsesEvents(answer) {
  const [id, items] = [newId("resp_"), responsesItems(answer)];
  let number = 0;
  const event = (type, data) => [type, { type, sequence_number: number++, ...data }];
  yield event("response.created", { response: response(answer, id, "in_progress", []) });
  for (const [output_index, item] of items.entries()) {
    const at = { item_id: item.id, output_index };
    if (item.type === "message") {
      yield event("response.output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } });
      yield event("response.content_part.added", { ...at, content_index: 0, part: { type: "output_text", text: "", annotations: [] } });
      for (const delta of answer.chunks(answer.text)) yield event("response.output_text.delta", { ...at, content_index: 0, delta });
      yield event("response.output_text.done", { ...at, content_index: 0, text: answer.text });
      yield event("response.content_part.done", { ...at, content_index: 0, part: item.content[0] });
    } else if (item.type === "function_call") {
      yield event("response.output_item.added", { output_index, item: { ...item, status: "in_progress", arguments: "" } });
      yield event("response.function_call_arguments.delta", { ...at, delta: item.arguments });
      yield event("response.function_call_arguments.done", { ...at, arguments: item.arguments });
    } else {
      yield event("response.output_item.added", { output_index, item });
    }
    yield event("response.output_item.done", { output_index, item });
  }
  const error = answer.turn.stream_error;
  if (error) return yield event("response.failed", { response: { ...response(answer, id, "failed", []), error: { code: error.type, message: error.message } } });
  yield event("response.completed", { response: response(answer, id, "completed", items) });
}

// OpenAI Chat Completions

const chatCalls = (answer) => answer.calls.map((call) => ({ id: call.id ?? newId("call_"), type: "function", function: { name: call.wire, arguments: JSON.stringify(call.args) } }));
const chatUsage = (answer) => ({ prompt_tokens: answer.input, completion_tokens: answer.output, total_tokens: answer.input + answer.output });
const chatFinish = (answer) => answer.turn.stop ?? (answer.calls.length > 0 ? "tool_calls" : "stop");

function chatBody(answer) {
  const message = { role: "assistant", content: answer.text || null, ...(answer.calls.length > 0 ? { tool_calls: chatCalls(answer) } : {}) };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: chatFinish(answer) }];
  return { id: newId("chatcmpl-"), object: "chat.completion", created: seconds(), model: answer.request.model, choices, usage: chatUsage(answer) };
}

function* chatEvents(answer) {
  const base = { id: newId("chatcmpl-"), object: "chat.completion.chunk", created: seconds(), model: answer.request.model };
  const event = (delta, finish_reason = null) => [null, { ...base, choices: [{ index: 0, delta, finish_reason }] }];
  yield event({ role: "assistant", content: "" });
  for (const content of answer.chunks(answer.text)) yield event({ content });
  for (const [index, call] of chatCalls(answer).entries()) yield event({ tool_calls: [{ index, ...call }] });
  if (answer.turn.stream_error) return yield [null, { error: answer.turn.stream_error }];
  yield event({}, chatFinish(answer));
  if (answer.request.body.stream_options?.include_usage) yield [null, { ...base, choices: [], usage: chatUsage(answer) }];
  yield [null, "[DONE]"];
}

// Gemini

const geminiCalls = (answer) => answer.calls.map((call) => ({ functionCall: { name: call.wire, args: call.args, ...(call.id ? { id: call.id } : {}) } }));
const geminiParts = (answer) => [...(answer.speaks ? [{ text: answer.text }] : []), ...geminiCalls(answer)];

function geminiChunk(answer, parts, isLast) {
  const candidate = { content: { role: "model", parts }, index: 0, ...(isLast ? { finishReason: answer.turn.stop ?? "STOP" } : {}) };
  const usageMetadata = { promptTokenCount: answer.input, candidatesTokenCount: answer.output, totalTokenCount: answer.input + answer.output };
  return { candidates: [candidate], modelVersion: answer.request.model, responseId: newId("r"), usageMetadata };
}

function* geminiEvents(answer) {
  if (answer.text) for (const text of answer.chunks(answer.text)) yield [null, geminiChunk(answer, [{ text }], false)];
  const error = answer.turn.stream_error;
  if (error) return yield [null, { error: { code: 503, status: error.type ?? "UNAVAILABLE", message: error.message ?? "" } }];
  const calls = geminiCalls(answer);
  yield [null, geminiChunk(answer, calls.length > 0 ? calls : [{ text: "" }], true)];
}

/** The body of a refusal, in the API's own shape. */
export function errorBody(api, error) {
  const { status = 500, type = "api_error", message = "scripted error" } = error;
  if (api === "anthropic") return { type: "error", error: { type, message }, request_id: newId("req_") };
  if (api === "gemini") return { error: { code: status, message, status: type, ...(error.details ? { details: error.details } : {}) } };
  return { error: { message, type, param: null, code: error.code ?? type } };
}
