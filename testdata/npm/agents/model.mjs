// A pretend model for real coding clients: it answers the first request of a conversation with one call of a tool, and
// the next one with "done". What the client sends back as the answer of the tool is what would reach a model.
import http from "node:http";

const json = (res, body) => { res.writeHead(200, { "content-type": "application/json" }); res.end(JSON.stringify(body)); };
const events = (res, list) => { res.writeHead(200, { "content-type": "text/event-stream" }); res.end(list.join("")); };
const named = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const data = body => `data: ${JSON.stringify(body)}\n\n`;
const text = content => typeof content === "string" ? content : (content ?? []).map(c => c.text ?? "").join("\n");

// Anthropic's Messages.
function messages(res, body, call, told) {
  for (const m of body.messages)
    for (const c of Array.isArray(m.content) ? m.content : [])
      if (c.type === "tool_result") return told(text(c.content), () => message(res, body, { type: "text", text: "done" }, "end_turn"));
  const name = (body.tools ?? []).map(t => t.name).find(n => n.endsWith(call.tool));
  if (!name) return message(res, body, { type: "text", text: "ok" }, "end_turn");
  message(res, body, { type: "tool_use", id: "toolu_01", name, input: call.args }, "tool_use");
}

function message(res, { stream, model }, block, reason) {
  const all = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 } };
  if (!stream) return json(res, { ...all, content: [block], stop_reason: reason });
  const use = block.type === "tool_use";
  events(res, [
    named("message_start", { message: all }),
    named("content_block_start", { index: 0, content_block: use ? { ...block, input: {} } : { type: "text", text: "" } }),
    named("content_block_delta", { index: 0, delta: use
      ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) } : { type: "text_delta", text: block.text } }),
    named("content_block_stop", { index: 0 }),
    named("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 1 } }),
    named("message_stop", {}),
  ]);
}

// OpenAI's Responses.
function responses(res, body, call, told) {
  const done = item => events(res, [
    named("response.created", { response: { id: "r1" } }),
    named("response.output_item.done", { output_index: 0, item }),
    named("response.completed", { response: { id: "r1", usage: { input_tokens: 1, input_tokens_details: null,
      output_tokens: 1, output_tokens_details: null, total_tokens: 2 } } }),
  ]);
  const say = t => done({ type: "message", id: "m1", role: "assistant", content: [{ type: "output_text", text: t, annotations: [] }] });
  const got = (body.input ?? []).find(i => i.type === "function_call_output");
  if (got) return told(text(got.output?.content ?? got.output), () => say("done"));
  for (const t of body.tools ?? [])
    for (const u of t.type === "namespace" ? t.tools : [t])
      if (u.name?.endsWith(call.tool))
        return done({ type: "function_call", id: "fc_1", call_id: "call_1", name: u.name,
          ...(t.type === "namespace" && { namespace: t.name }), arguments: JSON.stringify(call.args) });
  say("ok");
}

// OpenAI's chat completions. Some clients show tools only after a search for them.
function completions(res, body, call, told) {
  const answers = body.messages.filter(m => m.role === "tool");
  const names = (body.tools ?? []).map(t => t.function.name), search = names.includes("tool_search");
  const name = names.find(n => n.endsWith(call.tool));
  const reply = (content, tool) => {
    const message = tool ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: "call_" + answers.length, type: "function",
      function: { name: tool.name, arguments: JSON.stringify(tool.args) } }] } : { role: "assistant", content };
    const finish = tool ? "tool_calls" : "stop", usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const of = { id: "c1", created: 1, model: body.model };
    if (!body.stream) return json(res, { ...of, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage });
    const chunk = { ...of, object: "chat.completion.chunk" };
    events(res, [data({ ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] }),
      data({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finish }] }), data({ ...chunk, choices: [], usage }), "data: [DONE]\n\n"]);
  };
  if (answers.length > (search ? 1 : 0)) return told(text(answers.at(-1).content), () => reply("done"));
  if (search && answers.length === 0)
    return reply(null, { name: "tool_search", args: { query: "select:mcp__codemode__" + call.tool } });
  if (names.includes("tool_call")) // its tools are called through another one
    return reply(null, { name: "tool_call", args: { name: "mcp__codemode__" + call.tool, arguments: call.args } });
  if (!name) return reply("ok");
  reply(null, { name, args: call.args });
}

// Google's generateContent.
function contents(req, res, body, call, told) {
  const reply = part => {
    const r = { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], modelVersion: "x",
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    if (req.url.includes("stream")) events(res, [data(r)]);
    else json(res, r);
  };
  for (const c of body.contents ?? [])
    for (const p of c.parts ?? [])
      if (p.functionResponse) {
        const r = p.functionResponse.response;
        return told(r.error ? "ERROR: " + text(r.error) : text(r.output ?? r), () => reply({ text: "done" }));
      }
  const name = (body.tools ?? []).flatMap(t => t.functionDeclarations ?? []).map(f => f.name).find(n => n.endsWith(call.tool));
  if (name && body.generationConfig?.responseMimeType !== "application/json") return reply({ functionCall: { name, args: call.args } });
  reply({ text: body.generationConfig?.responseMimeType === "application/json" ? "{}" : "ok" });
}

// model listens on loopback. call is what it calls next: {tool, args}. got receives the text of the answer.
export function model(call, got) {
  const told = (answer, then) => { got(answer); then(); };
  const server = http.createServer((req, res) => {
    const parts = [];
    req.on("data", b => parts.push(b));
    req.on("end", () => {
      let body = {};
      try { body = JSON.parse(Buffer.concat(parts)); } catch {}
      if (/count_?[tT]okens/.test(req.url)) return json(res, { input_tokens: 10, totalTokens: 10 });
      if (req.url.includes("/messages")) return messages(res, body, call(), told);
      if (req.url.includes("/responses")) return responses(res, body, call(), told);
      if (req.url.includes("/chat/completions")) return completions(res, body, call(), told);
      if (req.url.includes("enerateContent")) return contents(req, res, body, call(), told);
      json(res, { data: [], models: [] });
    });
  });
  return new Promise(ready => server.listen(0, "127.0.0.1", () => ready(server)));
}
