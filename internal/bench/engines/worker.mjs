// Worker threads: a new thread for each program, with limits of the heap, which is terminated at the limit of time.
// Node's documentation offers workers for parallel work, not for isolation: a program has all of Node. The limits of
// the heap do not count "external data, including no ArrayBuffers", so the driver claims no limit of memory.
import { Worker } from 'node:worker_threads';
import { mailbox, outcome, prelude, serve, within } from './protocol.mjs';

// guest is the text that a worker begins with. A text has no file that a stack could name.
const guest = `
  const { parentPort, workerData } = require('node:worker_threads');
  const post = parentPort.postMessage.bind(parentPort);
  const { call, answer } = (${mailbox})((id, name, args) => post({ id, name, args }));
  parentPort.on('message', (message) => answer(message.id, message.answer));
  (async () => post({ end: await (${prelude})(call)(workerData) }))();
`;

serve(
  {
    name: 'worker_threads',
    version: process.versions.node,
    claims: ['time', 'calls', 'parallel', 'timers', 'console'],
    note: 'https://nodejs.org/docs/latest-v20.x/api/worker_threads.html#new-workerfilename-options',
  },
  async ({ program, limits, call }) => {
    const megabytes = limits.memory_bytes / 2 ** 20;
    const worker = new Worker(guest, {
      eval: true,
      workerData: program,
      argv: [],
      env: {},
      stdout: true, // standard output is the protocol's, so a program's lines go nowhere
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: megabytes, maxYoungGenerationSizeMb: megabytes / 8 },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const end = new Promise((resolve) => {
      // A program can send messages too, of any kind.
      worker.on('message', async (message) => {
        const { end, id, name, args } = message ?? {};
        if (typeof end === 'string') return resolve(end);
        if (typeof name !== 'string' || typeof args !== 'string') return;
        const answer = await call(name, args).catch((error) => JSON.stringify({ error: { message: error.message } }));
        worker.postMessage({ id, answer });
      });
      worker.on('error', (error) => resolve(outcome('error', String(error?.message ?? error))));
      worker.on('exit', (code) => resolve(outcome('error', `the worker ended with ${code}`)));
    });
    try {
      return await within(limits.wall_ms, end);
    } finally {
      await worker.terminate(); // the program has ended only then
    }
  },
);
