// Monty, Pydantic's interpreter of Python. It runs in a process of its own (monty-guest.mjs), which is replaced when it
// crashes or is late: so does Monty itself since 0.0.19, as it cannot be made crash-proof. This is the newest version that
// npm has.
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outcome, serve, within } from './protocol.mjs';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

// Calls wait for each other: the package for JavaScript cannot give a program a call that it awaits later.
const hello = {
  name: 'Monty',
  version: JSON.parse(readFileSync(file('node_modules/@pydantic/monty/package.json'))).version,
  language: 'python',
  claims: ['time', 'memory', 'calls'],
  note: 'https://github.com/pydantic/monty#readme',
};

let take = () => {};
let guest = start();

function start() {
  const child = fork(file('monty-guest.mjs'), { stdio: ['pipe', 2, 2, 'ipc'] });
  child.on('message', (message) => child === guest && take(message));
  child.on('error', () => {}); // of a message to a process that has ended
  child.on('exit', (code, signal) => {
    if (child !== guest) return;
    guest = start();
    take({ error: { type: 'Crash', message: `the process of Monty ended with ${signal ?? code}` } });
  });
  return child;
}

function replace() {
  const late = guest;
  guest = start();
  late.kill('SIGKILL');
}

serve(hello, ({ program, limits, call }) => {
  const mine = guest;
  const started = performance.now();
  const end = new Promise((resolve) => {
    take = async ({ end, error, name, args }) => {
      if (name !== undefined) {
        mine.send({ answer: await call(name, args).catch(({ message }) => JSON.stringify({ error: { message } })) });
      } else if (error) {
        resolve(outcome(reason(error), `${error.type}: ${error.message}`));
      } else {
        resolve(`{"outcome":"value","value":${end}}`);
      }
    };
  });
  mine.send({ program, limits });
  return within(limits.wall_ms, end, replace);

  // A program may raise the same errors, but it knows neither limit.
  function reason({ type, message }) {
    const late = type === 'TimeoutError' && performance.now() - started >= limits.cpu_ms;
    if (late && message.startsWith('time limit exceeded: ')) return 'timeout';
    return type === 'MemoryError' && message.endsWith(` > ${limits.memory_bytes} bytes`) ? 'memory' : 'error';
  }
});
