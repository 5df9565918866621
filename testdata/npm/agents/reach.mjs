// What of codemode's answers reaches the model of real clients: make test-models. It starts each client with a pretend
// model (model.mjs), lets it call a tool once for each case, and prints a table. CODEMODE names the binary; further
// arguments choose clients and cases by their names.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { model } from "./model.mjs";

const binary = process.env.CODEMODE, here = import.meta.dirname, bin = n => path.join(here, "node_modules/.bin", n);
if (!binary) throw new Error("CODEMODE names no binary of codemode");
const chosen = process.argv.slice(2), wanted = n => !chosen.length || chosen.includes(n);
const rows = n => `Array.from({ length: ${n} }, (_, i) => ({ id: i, name: "name " + i, note: "a note of some length about " + i }))`;
const cases = {
  object: "return { a: 1, b: [1, 2] }",
  list: "return [1, 2, 3]",
  text: "return 'hello'",
  rows: `return ${rows(20)}`,
  "8 KB": `return ${rows(90)}`,
  "20 KB": `return ${rows(250)}`,
  "57 KB": `return ${rows(780)}`,
  "65 KB text": "return 'x'.repeat(65000)",
  kept: `return await codemode.load(KEPT, { pointer: "", from: 10, count: 5 })`,
  asked: `return await codemode.filesystem__write_file({ path: "a.txt", content: "x" })`,
  refused: `return await codemode.filesystem__move_file({ source: "a.txt", destination: "b.txt" })`,
  "75 s": "await new Promise(r => setTimeout(r, 75000)); return 'late'",
};

const home = fs.mkdtempSync(path.join(os.tmpdir(), "codemode-reach-")), work = path.join(home, "work"), files = path.join(home, "files");
fs.mkdirSync(work);
fs.mkdirSync(files);
const write = (file, value) => {
  file = path.join(home, file);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
};
write("codemode.json", {
  builtin: { filesystem: { root: files } },
  evaluation: { defaultProfile: "work", profiles: { work: { allowlist: ["*"], asklist: ["filesystem__write_file"],
    denylist: ["filesystem__move_file"], elicitationFallback: "deny" } } },
});
const serve = { command: binary, args: ["serve", "--config", path.join(home, "codemode.json")] };
const env = { PATH: process.env.PATH, HOME: home, TERM: "dumb", NO_COLOR: "1", CI: "1", OPENAI_API_KEY: "none", GEMINI_API_KEY: "none",
  ANTHROPIC_API_KEY: "none", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", ENABLE_TOOL_SEARCH: "false",
  OPENCODE_DISABLE_AUTOUPDATE: "1" };
const clients = {
  claude: at => ({ args: ["-p", "x", "--mcp-config", JSON.stringify({ mcpServers: { codemode: serve } }), "--strict-mcp-config",
    "--allowedTools", "mcp__codemode__*"], env: { ANTHROPIC_BASE_URL: at } }),
  codex: at => {
    write(".codex/config.toml", `model = "gpt-5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\nbase_url = "${at}/v1"\n` +
      `env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n[mcp_servers.codemode]\ncommand = ${JSON.stringify(serve.command)}\n` +
      `args = ${JSON.stringify(serve.args)}\ntool_timeout_sec = 120\ndefault_tools_approval_mode = "approve"\n`);
    return { args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "x"], env: {} };
  },
  gemini: at => {
    write(".gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } }, mcpServers: { codemode: { ...serve, trust: true } } });
    return { args: ["--skip-trust", "-y", "-m", "gemini-2.5-pro", "-p", "x"], env: { GOOGLE_GEMINI_BASE_URL: at } };
  },
  qwen: at => {
    write(".qwen/settings.json", { mcpServers: { codemode: { ...serve, trust: true } } });
    return { args: ["-y", "--auth-type", "openai", "-p", "x"], env: { OPENAI_BASE_URL: at + "/v1", OPENAI_MODEL: "m" } };
  },
  opencode: at => {
    write(".config/opencode/opencode.json", { mcp: { codemode: { type: "local", command: [serve.command, ...serve.args], enabled: true } },
      provider: { mock: { npm: "@ai-sdk/openai-compatible", options: { baseURL: at + "/v1", apiKey: "none" }, models: { m: {} } } } });
    return { args: ["run", "-m", "mock/m", "x"], env: {} };
  },
};

const started = new Set();
process.on("exit", () => { for (const c of started) try { process.kill(-c.pid, "SIGKILL"); } catch {} });

// ask starts a client for one case and gives what its model was told, or null.
async function ask(client, code, tool = "codemode_eval") {
  let answer = null;
  const server = await model(() => ({ tool, args: { code } }), a => { answer ??= a; });
  const { args, env: more } = clients[client](`http://127.0.0.1:${server.address().port}`);
  const log = fs.openSync(path.join(home, client + ".log"), "a");
  const child = spawn(bin(client), args, { cwd: work, env: { ...env, ...more }, stdio: ["ignore", log, log], detached: true });
  started.add(child);
  const began = Date.now(), stop = setTimeout(() => { try { process.kill(-child.pid, "SIGKILL"); } catch {} }, 180000);
  await new Promise(r => child.on("close", r));
  clearTimeout(stop);
  fs.closeSync(log);
  server.closeAllConnections();
  server.close();
  return { answer, seconds: ((Date.now() - began) / 1000).toFixed(0) };
}

const line = s => s.length <= 150 ? s.replaceAll("\n", "⏎") : `${s.slice(0, 70)} … ${s.slice(-80)}`.replaceAll("\n", "⏎");
let failed = false;
for (const client of Object.keys(clients).filter(c => !Object.keys(clients).some(wanted) || wanted(c))) {
  let kept = "";
  for (const [name, code] of Object.entries(cases)) {
    if (Object.keys(cases).some(wanted) && !wanted(name)) continue;
    if (code.includes("KEPT") && !kept) {
      const large = await ask(client, `return ${rows(3000)}`);
      kept = JSON.stringify(/codemode\.load\("(\w+)"/.exec(large.answer ?? "")?.[1] ?? "");
    }
    const { answer, seconds } = await ask(client, code.replace("KEPT", kept));
    failed ||= answer === null;
    console.log(`| ${client} | ${name} | ${answer?.length ?? "nothing"} | ${seconds} s | ${answer === null ? "" : line(answer)} |`);
  }
}
console.log(`(what the clients printed: ${home})`);
process.exit(failed ? 1 : 0);
