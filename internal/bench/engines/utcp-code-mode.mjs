// @utcp/code-mode: callToolChain with its time-out and limit of memory. The tools are those of a manual with the name
// codemode, so that programs call codemode.echo. It runs programs in isolated-vm, and asks for a newer one than Node 20
// has.
import { CodeModeUtcpClient } from '@utcp/code-mode';
import { readFileSync } from 'node:fs';
import { outcome, serve } from './protocol.mjs';

const client = await CodeModeUtcpClient.create();
client.getTools = async () =>
  ['echo', 'slow', 'fail', 'secret'].map((name) => ({
    name: `codemode.${name}`,
    description: name,
    inputs: { type: 'object', properties: {} },
    outputs: { type: 'object', properties: {} },
    tags: [],
    tool_call_template: { call_template_type: 'text', name: 'codemode' },
  }));

serve(
  {
    name: '@utcp/code-mode',
    version: JSON.parse(readFileSync(new URL('node_modules/@utcp/code-mode/package.json', import.meta.url))).version,
    claims: ['time', 'memory', 'calls', 'console'],
    note: 'https://github.com/universal-tool-calling-protocol/code-mode#security',
  },
  async ({ program, limits, call }) => {
    client.callTool = async (name, args) => {
      const answer = JSON.parse(await call(name.replace('codemode.', ''), JSON.stringify(args)));
      if (answer.error) throw new Error(answer.error.message);
      return answer.value;
    };
    const { result, logs } = await client.callToolChain(program, limits.wall_ms, limits.memory_bytes / 2 ** 20);
    const failed = logs.find((line) => line.startsWith('[ERROR] Code execution failed: '));
    if (failed === undefined) return JSON.stringify({ outcome: 'value', value: result ?? null });
    if (/execution timeout after|Script execution timed out/.test(failed)) return outcome('timeout');
    return outcome(/memory limit/.test(failed) ? 'memory' : 'error', failed);
  },
);
