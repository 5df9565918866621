// quickjs-wasi: a new instance, with a memory of its own, for each program, with limits of memory and stack and an
// interrupt handler as in its documentation.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { QuickJS } from 'quickjs-wasi';
import { outcome, outOfMemory, prelude, serve, within } from './protocol.mjs';

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
    let ended = false; // by itself, by the limit, or because the instance broke; nothing may enter it then
    let end;
    const finished = new Promise((resolve) => {
      end = (text) => {
        ended = true;
        resolve(text);
      };
    });
    let memory;
    const vm = await QuickJS.create({
      wasm,
      wasi: (linear) => ((memory = linear), {}), // its size is known here only
      memoryLimit: limits.memory_bytes,
      maxStackSize: 256 * 1024,
      interruptHandler: () => {
        if (Date.now() < deadline) return false;
        end(outcome('timeout')); // no program can catch it
        return true;
      },
    });
    // enter does something in the instance, and then its jobs. An error of a job does not end those that wait.
    const enter = (work) => {
      if (ended) return;
      try {
        work();
        for (let more = true; more && !ended; ) {
          try {
            vm.executePendingJobs();
            more = false;
          } catch (error) {
            if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw error;
          }
        }
      } catch (error) {
        end(outcome('error', String(error?.message ?? error)));
      }
    };
    const ask = vm.newFunction('call', (name, args) => {
      const deferred = vm.newPromise();
      call(name.toString(), args.toString()).then((answer) => enter(() => deferred.resolve(vm.newString(answer))));
      return deferred.handle;
    });
    enter(() => {
      const start = vm.callFunction(vm.evalCode(prelude), vm.undefined, ask);
      const promise = vm.callFunction(start, vm.undefined, vm.newString(program));
      vm.resolvePromise(promise).then(({ value, error }) =>
        end(value ? value.toString() : outcome('error', `${error.getProp('message')}`)),
      );
    });
    const text = await within(deadline - Date.now(), finished);
    ended = true;
    return outOfMemory(text, memory, limits);
  },
);
