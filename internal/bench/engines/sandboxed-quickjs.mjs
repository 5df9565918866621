// @sebastianwessel/quickjs: QuickJS in WebAssembly, loaded once, and a sandbox for each program with its options for
// limits, and without its modules for files and network. Programs call tools through a function in env.
import variant from '@jitl/quickjs-ng-wasmfile-release-sync';
import { loadQuickJs } from '@sebastianwessel/quickjs';
import { readFileSync } from 'node:fs';
import { outcome, prelude, serve } from './protocol.mjs';

const { runSandboxed } = await loadQuickJs(variant);
const silent = Object.fromEntries(['log', 'error', 'warn', 'info', 'debug', 'trace'].map((name) => [name, () => {}]));

serve(
  {
    name: '@sebastianwessel/quickjs',
    version: JSON.parse(readFileSync(new URL('node_modules/@sebastianwessel/quickjs/package.json', import.meta.url))).version,
    claims: ['time', 'memory', 'calls', 'parallel', 'timers', 'console'],
    note: 'https://sebastianwessel.github.io/quickjs/docs/runtime-options.html',
  },
  async ({ program, limits, call }) => {
    const options = {
      executionTimeout: limits.wall_ms,
      memoryLimit: limits.memory_bytes,
      maxStackSize: 512 * 1024,
      console: silent,
      env: { call: (name, args) => call(String(name), String(args)) },
    };
    const source = `export default await (${prelude})(env.call)(${JSON.stringify(program)})`;
    const end = await runSandboxed(({ evalCode }) => evalCode(source), options);
    if (end.ok) return String(end.data);
    const { name, message } = end.error;
    return outcome(name === 'ExecutionTimeout' ? 'timeout' : 'error', `${name}: ${message}`);
  },
);
