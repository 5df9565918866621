// isolated-vm: a new isolate for each program, with its limit of memory; at the limit of time it is disposed of,
// which ends the program wherever it is. As the documentation asks, no object of isolated-vm is in the hands of the
// program: the callback is a plain function there. Start it with --no-node-snapshot, as the documentation says for
// Node 20. 5.0.4 is the newest version for Node 20; version 6 needs Node 22.
import ivm from 'isolated-vm';
import { createRequire } from 'node:module';
import { mailbox, outcome, prelude, serve, within } from './protocol.mjs';

serve(
  {
    name: 'isolated-vm',
    version: createRequire(import.meta.url)('isolated-vm/package.json').version,
    claims: ['time', 'memory', 'calls', 'parallel'],
    note: 'https://github.com/laverdet/isolated-vm#security',
  },
  async ({ program, limits, call }) => {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, limits.memory_bytes / 2 ** 20) });
    let settle;
    const send = (id, name, args) =>
      call(name, args).then((answer) => isolate.isDisposed || settle.applyIgnored(undefined, [id, answer]));
    const dispose = () => isolate.isDisposed || isolate.dispose();
    const run = async () => {
      const context = await isolate.createContext();
      const guest = await context.evalClosure(
        `const { call, answer } = (${mailbox})($0);
         return { answer, run: (${prelude})(call) };`,
        [new ivm.Callback(send, { ignored: true })],
        { result: { reference: true } },
      );
      settle = await guest.get('answer', { reference: true });
      const start = await guest.get('run', { reference: true });
      return start.apply(undefined, [program], { timeout: limits.wall_ms, result: { promise: true } });
    };
    try {
      return await within(limits.wall_ms, run(), dispose);
    } catch (error) {
      // The program's own errors are outcomes already; these are those of isolated-vm.
      const message = String(error?.message ?? error);
      if (/timed out/.test(message)) return outcome('timeout');
      return outcome(/memory limit/.test(message) ? 'memory' : 'error', message);
    } finally {
      dispose();
    }
  },
);
