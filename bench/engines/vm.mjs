// node:vm: a new context for each program, a limit of time for its synchronous parts, and no code from strings beyond
// the driver's own. Node's documentation says that it is no security mechanism; it is here because many use it as one.
import vm from 'node:vm';
import { outcome, prelude, serve, within } from './protocol.mjs';

// A rejection that nobody handles is one of a program that has ended.
process.on('unhandledRejection', () => {});

serve(
  {
    name: 'node:vm',
    version: process.versions.node,
    claims: ['time', 'calls', 'parallel'],
    note: 'https://nodejs.org/docs/latest-v20.x/api/vm.html',
  },
  async ({ program, limits, call }) => {
    const context = vm.createContext({});
    const run = vm.runInContext(prelude, context)(call);
    try {
      context.start = () => run(program);
      const end = vm.runInContext('{ const start = globalThis.start; delete globalThis.start; start() }', context, {
        timeout: limits.wall_ms,
      });
      return await within(limits.wall_ms, end);
    } catch (error) {
      if (error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return outcome('timeout');
      throw error;
    }
  },
);
