// Worker threads: a new thread for each program, with limits of memory, which is terminated at the limit of time.
// Node's documentation offers workers for parallel work, not for isolation: a program has all of Node.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { outcome, prelude, serve, within } from './protocol.mjs';

const main = () =>
  serve(
    {
      name: 'worker_threads',
      version: process.versions.node,
      claims: ['time', 'memory', 'calls', 'parallel', 'timers', 'console'],
      note: 'https://nodejs.org/docs/latest-v20.x/api/worker_threads.html',
    },
    async ({ program, limits, call }) => {
      const megabytes = limits.memory_bytes / 2 ** 20;
      const worker = new Worker(fileURLToPath(import.meta.url), {
        workerData: program,
        env: {},
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: megabytes, maxYoungGenerationSizeMb: megabytes / 8 },
      });
      worker.stdout.resume();
      worker.stderr.resume();
      const end = new Promise((resolve) => {
        worker.on('message', async ({ end, id, name, args }) => {
          if (end !== undefined) return resolve(end);
          const answer = await call(name, args).catch(() => null);
          worker.postMessage({ id, answer });
        });
        worker.on('error', (error) =>
          resolve(outcome(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'error', String(error?.message ?? error))),
        );
        worker.on('exit', (code) => resolve(outcome('error', `the worker ended with ${code}`)));
      });
      try {
        return await within(limits.wall_ms, end);
      } finally {
        await worker.terminate();
      }
    },
  );

const guest = async () => {
  const open = new Map();
  parentPort.on('message', ({ id, answer }) => {
    open.get(id)?.(answer);
    open.delete(id);
  });
  let last = 0;
  const call = (name, args) =>
    new Promise((resolve) => {
      const id = ++last;
      open.set(id, resolve);
      parentPort.postMessage({ id, name, args });
    });
  const run = (0, eval)(prelude)(call);
  parentPort.postMessage({ end: await run(workerData) });
};

if (isMainThread) main();
else guest();
