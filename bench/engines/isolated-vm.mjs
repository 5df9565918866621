// isolated-vm: a new isolate for each program, with its limit of memory and its time-out, and no reference of Node's in
// the hands of the program but the one function that calls tools. Node 20 has no newer version than 5; --no-node-snapshot
// is what its documentation asks for.
import ivm from 'isolated-vm';
import { createRequire } from 'node:module';
import { outcome, prelude, serve, within } from './protocol.mjs';

serve(
  {
    name: 'isolated-vm',
    version: createRequire(import.meta.url)('isolated-vm/package.json').version,
    claims: ['time', 'memory', 'calls', 'parallel'],
    note: 'https://github.com/laverdet/isolated-vm#security',
  },
  async ({ program, limits, call }) => {
    const isolate = new ivm.Isolate({ memoryLimit: limits.memory_bytes / 2 ** 20 });
    const dispose = () => isolate.isDisposed || isolate.dispose();
    try {
      const context = await isolate.createContext();
      const reference = new ivm.Reference((name, args) => call(name, args));
      const start = await context.evalClosure(
        `const call = $0;
         const run = (${prelude})((name, args) => call.apply(undefined, [name, args], { result: { promise: true } }));
         return run;`,
        [reference],
        { result: { reference: true } },
      );
      const end = start.apply(undefined, [program], { timeout: limits.wall_ms, result: { promise: true } });
      end.catch(() => {});
      return await within(limits.wall_ms, end, dispose);
    } catch (error) {
      const message = String(error?.message ?? error);
      if (/timed out/.test(message)) return outcome('timeout');
      return outcome(isolate.isDisposed || /memory limit/.test(message) ? 'memory' : 'error', message);
    } finally {
      dispose();
    }
  },
);
