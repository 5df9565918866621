// Takes steps through a real MCP client, and says what came of each:
//
//   node steps.mjs SDK ERA STEPS TARGET...
//
// SDK is v1 or v2 (of the TypeScript SDK), ERA is legacy or a version that is insisted on (v2 only), TARGET a URL or a
// command. STEPS is JSON: a list of {tool, arguments}, or of {kill: true}, which ends the command with SIGKILL and connects
// to a new one. TOKEN, if set, is sent with each request to a URL.
const [sdk, era, steps, ...target] = process.argv.slice(2);
const from = sdk === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(sdk === "v1" ? `${from}/index.js` : from);
const { StreamableHTTPClientTransport } = await import(sdk === "v1" ? `${from}/streamableHttp.js` : from);
const { StdioClientTransport } = await import(sdk === "v1" ? `${from}/stdio.js` : `${from}/stdio`);

let client, transport;
const connect = async () => {
  const headers = process.env.TOKEN ? { Authorization: `Bearer ${process.env.TOKEN}` } : {};
  transport = target.length === 1 && target[0].startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(target[0]), { requestInit: { headers } })
    : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit", env: process.env });
  client = new Client({ name: `steps-${sdk}`, version: "1" },
    sdk === "v2" ? { versionNegotiation: { mode: era === "legacy" ? era : { pin: era } } } : {});
  await client.connect(transport);
};
await connect();
const said = [];
for (const step of JSON.parse(steps)) {
  if (step.kill) {
    const closed = new Promise((resolve) => (transport.onclose = resolve));
    process.kill(transport.pid, "SIGKILL");
    await closed;
    await connect();
    said.push({ text: "killed" });
    continue;
  }
  try {
    const result = await client.callTool({ name: step.tool, arguments: step.arguments });
    said.push({ text: result.content.map((c) => c.text ?? c.type).join("\n"), isError: result.isError ?? false });
  } catch (error) {
    said.push({ text: String(error), isError: true });
  }
}
process.stdout.write(JSON.stringify(said) + "\n");
await client.close();
process.exit(0);
