// Deno: each program in a worker of its own without any permission, which is terminated at the limit of time. Run it
// with Deno itself: deno run --unstable-worker-options --allow-read=. deno.mjs
import { outcome, prelude, serve, within } from './protocol.mjs';

if (globalThis.Deno && !globalThis.WorkerGlobalScope) {
  serve(
    {
      name: 'deno',
      version: Deno.version.deno,
      claims: ['time', 'calls', 'parallel', 'timers', 'console'],
      note: 'https://docs.deno.com/runtime/fundamentals/security/',
    },
    async ({ program, limits, call }) => {
      const worker = new Worker(import.meta.url, { type: 'module', deno: { permissions: 'none' } });
      const end = new Promise((resolve) => {
        worker.onmessage = async ({ data: { ready, end, id, name, args } }) => {
          if (ready) return worker.postMessage({ program });
          if (end !== undefined) return resolve(String(end));
          const answer = await call(String(name), String(args)).catch(() => null);
          worker.postMessage({ id, answer });
        };
        worker.onerror = (event) => {
          event.preventDefault();
          resolve(outcome('error', event.message));
        };
      });
      try {
        return await within(limits.wall_ms, end);
      } finally {
        worker.terminate();
      }
    },
  );
} else {
  // Standard output is the protocol's, so a program's lines go nowhere.
  for (const name of Object.keys(console)) console[name] = () => {};
  const open = new Map();
  const post = postMessage.bind(globalThis);
  let last = 0;
  const run = (0, eval)(prelude)(
    (name, args) =>
      new Promise((resolve) => {
        open.set(++last, resolve);
        post({ id: last, name, args });
      }),
  );
  onmessage = async ({ data: { program, id, answer } }) => {
    if (program !== undefined) return post({ end: await run(program) });
    open.get(id)?.(answer);
    open.delete(id);
  };
  post({ ready: true });
}
