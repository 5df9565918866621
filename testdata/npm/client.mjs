// A real MCP client over stdio, for the tests: node client.mjs COMMAND ARGS...
//
// It reads one JSON command per line from standard input and answers each with one line:
//   {"call": NAME, "arguments": {...}, "answer": "yes"|"no"|"cancel"|"empty"|"none"}  calls a tool
//   {"list": true}                                                       lists the tools
//   {"changed": true}                                                    waits for tools/list_changed
// With "progress" in a call, what the client heard of it and what it took for mistakes come with the result.
// "answer" says how elicitations are answered: after 400 ms, as a person would at the earliest.
import readline from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const canAsk = process.env.CLIENT_WITHOUT_ELICITATION ? {} : { elicitation: {} };
const client = new Client({ name: "codemode-test", version: "1" }, { capabilities: canAsk });
let answer = "none";
let asked = [];
let changes = 0;
let heard = [];
let mistakes = [];
client.onerror = (error) => mistakes.push(String(error));
let onChange = () => {};
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes++; onChange(); });
if (canAsk.elicitation) {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked.push(request.params);
    await new Promise((r) => setTimeout(r, 400));
    switch (answer) {
      case "yes": return { action: "accept", content: { decision: "allow_once" } };
      case "no": return { action: "decline" };
      case "cancel": return { action: "cancel" };
      case "empty": return { action: "accept", content: {} };
      case "refuse": return { action: "accept", content: { decision: "deny", reason: "not today" } };
      default: throw new Error("nobody is here");
    }
  });
}
await client.connect(new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3), stderr: "inherit", env: process.env }));
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
say({ server: client.getServerVersion(), instructions: client.getInstructions() });
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    if (command.list) {
      say({ tools: (await client.listTools()).tools });
    } else if (command.changed) {
      if (changes === 0) await Promise.race([new Promise((r) => { onChange = r; }), new Promise((_, no) => setTimeout(() => no(new Error("no tools/list_changed came")), 10000))]);
      changes = 0;
      say({ changed: true });
    } else {
      answer = command.answer ?? "none";
      asked = [];
      heard = [];
      mistakes = [];
      const onprogress = command.progress ? (p) => heard.push(p.message) : undefined;
      const result = await client.callTool({ name: command.call, arguments: command.arguments }, undefined, { timeout: 60000, onprogress });
      await new Promise((r) => setTimeout(r, command.progress ? 50 : 0)); // for what comes after the result
      say({ text: result.content.map((c) => c.text ?? c.type).join("\n"), isError: result.isError ?? false, asked, heard, mistakes,
        blocks: result.content.filter((c) => c.type !== "text").map((c) => ({ type: c.type, mimeType: c.mimeType, data: c.data ?? c.resource?.blob ?? "" })) });
    }
  } catch (error) {
    say({ error: String(error) });
  }
}
await client.close();
