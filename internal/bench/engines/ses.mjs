// SES: each program runs in a compartment after lockdown. SES says that a program may use any time and memory, and advises
// a coarser boundary beside it: the compartment is in a worker of its own, which is terminated at the limit of time.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outcome, serve, within } from './protocol.mjs';

const main = () =>
  serve(
    {
      name: 'SES',
      version: JSON.parse(readFileSync(new URL('node_modules/ses/package.json', import.meta.url))).version,
      claims: ['time', 'calls', 'parallel'],
      note: 'https://github.com/endojs/endo/tree/master/packages/ses#security-claims-and-caveats',
    },
    async ({ program, limits, call }) => {
      const worker = new Worker(fileURLToPath(import.meta.url), {
        workerData: program,
        env: {},
        stdout: true,
        stderr: true,
        // A worker without this limit would end the whole process. It does not cover array buffers, so it is no claim.
        resourceLimits: { maxOldGenerationSizeMb: limits.memory_bytes / 2 ** 20 },
      });
      worker.stdout.resume();
      worker.stderr.resume();
      const end = new Promise((resolve) => {
        worker.on('message', async ({ end, id, name, args }) => {
          if (end !== undefined) return resolve(end);
          const answer = await call(name, args).catch(({ message }) => JSON.stringify({ error: { message } }));
          worker.postMessage({ id, answer });
        });
        worker.on('error', (error) => resolve(outcome('error', String(error?.message ?? error))));
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
  const AsyncFunction = (async () => {}).constructor; // lockdown takes it away
  await import('ses');
  lockdown();
  const open = new Map();
  const denied = new WeakSet();
  parentPort.on('message', ({ id, answer }) => {
    open.get(id)(JSON.parse(answer));
    open.delete(id);
  });
  process.on('unhandledRejection', () => {}); // the program goes on, as in other engines
  let last = 0;
  const tool = (name) => async (...args) => {
    const text = args.length === 0 ? '{}' : JSON.stringify(args[0]);
    const id = ++last;
    parentPort.postMessage({ id, name, args: text === undefined ? 'null' : text });
    const { value, error } = await new Promise((resolve) => open.set(id, resolve));
    if (!error) return value;
    const thrown = new Error(error.message);
    if (error.code === 'denied') denied.add(thrown);
    throw thrown;
  };
  const tools = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  const globals = harden({ codemode: tools });
  try {
    new AsyncFunction(workerData); // it is the body of a function, and not more
    const compartment = new Compartment({ globals, __options__: true });
    const value = JSON.stringify(await compartment.evaluate(`(async function () {\n${workerData}\n})`)());
    parentPort.postMessage({ end: `{"outcome":"value","value":${value === undefined ? 'null' : value}}` });
  } catch (error) {
    const isDenied = typeof error === 'object' && error !== null && denied.has(error);
    let message = 'an error without a text';
    try {
      message = String(error?.message ?? error);
    } catch {}
    parentPort.postMessage({ end: outcome(isDenied ? 'denied' : 'error', message) });
  }
};

if (isMainThread) main();
else guest();
