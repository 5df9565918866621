// quickjs-wasi: a new instance for each program, with its limit of memory and an interrupt handler as in its
// documentation.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { QuickJS } from 'quickjs-wasi';
import { outcome, prelude, serve, within } from './protocol.mjs';

const require = createRequire(import.meta.url);
const wasm = await WebAssembly.compile(readFileSync(require.resolve('quickjs-wasi/quickjs.wasm')));

serve(
  {
    name: 'quickjs-wasi',
    version: JSON.parse(readFileSync(new URL('node_modules/quickjs-wasi/package.json', import.meta.url))).version,
    claims: ['time', 'memory', 'calls', 'parallel'],
    note: 'https://github.com/vercel-labs/quickjs-wasi#memory-limits',
  },
  async ({ program, limits, call }) => {
    const deadline = Date.now() + limits.wall_ms;
    let checks = 0;
    const vm = await QuickJS.create({
      wasm,
      memoryLimit: limits.memory_bytes,
      // The clock is looked at now and then: the handler runs very often.
      interruptHandler: () => ++checks % 1024 === 0 && Date.now() >= deadline,
    });
    let ended = false;
    const callTool = vm.newFunction('call', (name, args) => {
      const promise = vm.newPromise();
      call(name.toString(), args.toString()).then(
        (answer) => {
          if (ended) return;
          promise.resolve(vm.newString(answer));
          vm.executePendingJobs();
        },
        () => {},
      );
      return promise.handle;
    });
    const run = async () => {
      const start = vm.callFunction(vm.evalCode(prelude), vm.undefined, callTool);
      const end = vm.callFunction(start, vm.undefined, vm.newString(program));
      const settled = vm.resolvePromise(end);
      vm.executePendingJobs();
      const result = await settled;
      return (result.value ?? result).toString();
    };
    try {
      const end = await within(deadline - Date.now(), run());
      return Date.now() >= deadline ? outcome('timeout') : end;
    } catch (error) {
      if (Date.now() >= deadline) return outcome('timeout');
      return outcome(/out of memory/.test(error.message) ? 'memory' : 'error', String(error.message));
    } finally {
      ended = true;
    }
  },
);
