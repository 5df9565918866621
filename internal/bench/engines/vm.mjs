// node:vm: a new context for each program, with a global object of its own and with its microtasks inside the limit
// of time of each entry, which are the two things that Node's documentation offers against a hostile program. It says
// itself: "The node:vm module is not a security mechanism. Do not use it to run untrusted code." It is here because
// many do.
import vm from 'node:vm';
import { outcome, prelude, serve, within } from './protocol.mjs';

// A rejection that nobody handles is one of a program: it ends no other.
process.on('unhandledRejection', () => {});

serve(
  {
    name: 'node:vm',
    version: process.versions.node,
    claims: ['time', 'calls', 'parallel'],
    note: 'https://nodejs.org/docs/latest-v20.x/api/vm.html#timeout-interactions-with-asynchronous-tasks-and-promises',
  },
  async ({ program, limits, call }) => {
    const deadline = performance.now() + limits.wall_ms;
    const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { microtaskMode: 'afterEvaluate' });
    let ended = false;
    let end;
    const finished = new Promise((resolve) => (end = resolve));
    // enter runs a script, and the microtasks that wait, within the time that is left.
    const enter = (script) => {
      if (ended) return;
      try {
        return vm.runInContext(script, context, { timeout: Math.max(1, Math.ceil(deadline - performance.now())) });
      } catch (error) {
        end(error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? outcome('timeout') : outcome('error', String(error)));
      }
    };
    const callAndEnter = (name, args) =>
      new Promise((resolve) => {
        call(name, args).then((answer) => {
          resolve(answer);
          enter(''); // runs what waited for the answer
        });
      });
    context.start = enter(`(call, done, program) => {
      const run = (${prelude})(call);
      return async () => done(await run(program));
    }`)(callAndEnter, end, program);
    enter('{ const { start } = globalThis; delete globalThis.start; start(); }');
    try {
      return await within(deadline - performance.now(), finished);
    } finally {
      ended = true;
    }
  },
);
