// A real MCP client that goes from server to server: node sessions.mjs SDK ERA
//
// SDK and ERA are those of rounds.mjs. It reads one JSON command per line from standard input and answers each with one
// line: {"at": URL or [COMMAND, ARGS...], "call": TOOL, "arguments": {...}} calls a tool of a server. The client stays
// connected to each server. When a server is gone, it connects again, once, and sends the call again.
import readline from "node:readline";

const [sdk, era] = process.argv.slice(2);
const from = sdk === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(sdk === "v1" ? `${from}/index.js` : from);
const { StreamableHTTPClientTransport } = await import(sdk === "v1" ? `${from}/streamableHttp.js` : from);
const { StdioClientTransport } = await import(sdk === "v1" ? `${from}/stdio.js` : `${from}/stdio`);

const options = { capabilities: {} };
if (sdk === "v2") options.versionNegotiation = { mode: era === "legacy" || era === "auto" ? era : { pin: era } };
const servers = new Map(); // what the client is connected to

async function connect(at) {
  const server = { client: new Client({ name: `sessions-${sdk}`, version: "1" }, options), version: undefined };
  const [command, ...args] = at;
  server.transport = typeof at === "string" ? new StreamableHTTPClientTransport(new URL(at)) : new StdioClientTransport({ command, args, stderr: "inherit", env: process.env });
  const set = server.transport.setProtocolVersion;
  server.transport.setProtocolVersion = function (version) { server.version = version; return set?.call(this, version); };
  await server.client.connect(server.transport);
  server.version = server.client.getNegotiatedProtocolVersion?.() ?? server.version;
  return server;
}

async function call({ at, call: name, arguments: args }) {
  const key = JSON.stringify(at);
  for (let again = false; ; again = true) {
    const known = servers.has(key);
    try {
      if (!known) servers.set(key, await connect(at));
      const { client, version, transport } = servers.get(key);
      const request = { name, arguments: args }, settings = { timeout: 60000 };
      const result = await (sdk === "v1" ? client.callTool(request, undefined, settings) : client.callTool(request, settings));
      const text = result.content.map((c) => c.text ?? c.type).join("\n");
      return { text, isError: result.isError ?? false, version, pid: transport.pid ?? 0 };
    } catch (error) {
      servers.delete(key);
      if (!known || again) throw error;
    }
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const said = await call(JSON.parse(line)).catch((error) => ({ error: String(error) }));
  process.stdout.write(JSON.stringify(said) + "\n");
}
await Promise.all([...servers.values()].map(({ client }) => client.close()));
process.exit(0);
