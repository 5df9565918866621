// Runs one program through a real MCP client and says what its person was asked:
//
//   node rounds.mjs SDK ERA WAIT TOOL PROGRAM TARGET...
//
// SDK is v1 or v2 (of the TypeScript SDK), ERA is legacy, auto or a version that is insisted on (v2 only), WAIT is how many
// milliseconds the person thinks, TARGET a URL or a command. PROGRAM is run by TOOL; every question is answered with yes. The
// client keeps to what such clients do by themselves: no progress is asked for, unless PROGRESS is set.
const [sdk, era, wait, tool, program, ...target] = process.argv.slice(2);
const from = sdk === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(sdk === "v1" ? `${from}/index.js` : from);
const { StreamableHTTPClientTransport } = await import(sdk === "v1" ? `${from}/streamableHttp.js` : from);
const { StdioClientTransport } = await import(sdk === "v1" ? `${from}/stdio.js` : `${from}/stdio`);

const options = { capabilities: { elicitation: { form: {} } } };
if (sdk === "v2") options.versionNegotiation = { mode: era === "legacy" || era === "auto" ? era : { pin: era } };
const client = new Client({ name: `rounds-${sdk}`, version: "1" }, options);
const forms = [];
const answer = async (request) => {
  const { message, requestedSchema } = request.params;
  forms.push({ message, decisions: requestedSchema.required.length });
  await new Promise((r) => setTimeout(r, Number(wait)));
  return { action: "accept", content: Object.fromEntries(requestedSchema.required.map((name) => [name, "allow_once"])) };
};
if (sdk === "v1") {
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(ElicitRequestSchema, answer);
} else {
  client.setRequestHandler("elicitation/create", answer);
}
const http = target.length === 1 && target[0].startsWith("http");
let version;
const transport = http ? new StreamableHTTPClientTransport(new URL(target[0])) : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit", env: process.env });
if (sdk === "v1") transport.setProtocolVersion = ((set) => function (v) { version = v; return set?.call(this, v); })(transport.setProtocolVersion);
await client.connect(transport);
version = client.getNegotiatedProtocolVersion?.() ?? version;
const progress = [];
const request = { name: tool, arguments: { code: program } };
const settings = { timeout: 15 * 60 * 1000, ...(process.env.PROGRESS ? { onprogress: (p) => progress.push(p.message) } : {}) };
let said;
try {
  const result = await (sdk === "v1" ? client.callTool(request, undefined, settings) : client.callTool(request, settings));
  said = { text: result.content.map((c) => c.text ?? c.type).join("\n"), isError: result.isError ?? false };
} catch (error) {
  said = { error: String(error) };
}
process.stdout.write(JSON.stringify({ ...said, version, forms, progress }) + "\n");
await client.close();
process.exit(0);
