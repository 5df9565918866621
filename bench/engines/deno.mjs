// Deno: each program runs in a worker with permissions: "none", as Deno advises for untrusted code. A program may write
// to standard output and read standard input without a permission, so Deno speaks with this driver over a socket.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { serve } from './protocol.mjs';

const require = createRequire(import.meta.url);
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const hello = {
  name: 'Deno worker',
  version: require('deno/package.json').version,
  claims: ['time', 'calls', 'parallel', 'timers', 'console'],
  note: 'https://docs.deno.com/runtime/fundamentals/security/#executing-untrusted-code',
};

const server = createServer((socket) => {
  server.close();
  let last = 0;
  let current = null;
  const say = (message) => socket.write(JSON.stringify(message) + '\n');

  serve(hello, ({ program, limits, call }) =>
    new Promise((resolve) => {
      const id = ++last;
      current = async ({ outcome, value, message, number, name, args }) => {
        if (outcome) {
          resolve({ outcome, value, message });
          return;
        }
        try {
          say({ id, number, value: await call(name, args) });
        } catch (error) {
          say({ id, number, error: error.message });
        }
      };
      say({ id, program, wall: limits.wall_ms });
    }),
  );
  createInterface({ input: socket, crlfDelay: Infinity }).on('line', (line) => {
    const { id, ...message } = JSON.parse(line);
    if (id === last) current(message);
  });
  socket.on('error', () => {});
  socket.on('close', () => process.exit(1));
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const flags = ['--no-prompt', '--cached-only', '--no-remote', '--no-npm', '--no-config', '--no-lock', '--no-code-cache'];
  const powers = [`--allow-net=127.0.0.1:${port}`, `--allow-read=${file('deno-guest.js')}`];
  spawn(
    require('deno/install_api.cjs').runInstall(),
    ['run', ...flags, '--unstable-worker-options', ...powers, file('deno-host.js'), port],
    { stdio: ['ignore', 2, 2], env: { ...process.env, DENO_NO_UPDATE_CHECK: '1' } },
  ).on('exit', () => process.exit(1));
});
