// Deno: each program runs in a worker with permissions: "none", as Deno advises for untrusted code. A program may write
// to standard output and read standard input without a permission, so Deno speaks with this driver over a socket.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { lines } from './lines.mjs';
import { outcome, prelude, serve } from './protocol.mjs';

const require = createRequire(import.meta.url);
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const hello = {
  name: 'deno',
  version: require('deno/package.json').version,
  claims: ['time', 'calls', 'parallel', 'timers', 'console'],
  note: 'https://docs.deno.com/runtime/fundamentals/security/#executing-untrusted-code',
};

const server = createServer(async (socket) => {
  server.close();
  let last = 0;
  let take;
  const say = (message) => socket.write(JSON.stringify({ id: last, ...message }) + '\n');

  serve(hello, ({ program, limits, call }) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      take = async ({ late, end, number, name, args }) => {
        try {
          if (late) resolve(outcome('timeout'));
          else if (end !== undefined) resolve(checked(end));
          else say({ id, number, answer: await call(name, args).catch(refused) });
        } catch (error) {
          reject(error);
        }
      };
      say({ prelude, program, wall: limits.wall_ms });
    }),
  );
  socket.on('error', () => {});
  socket.on('close', () => process.exit(1));
  for await (const line of lines(socket.setEncoding('utf8'))) {
    const { id, ...message } = JSON.parse(line);
    if (id === last) take(message);
  }
});

const refused = ({ message }) => JSON.stringify({ error: { code: 'failed', message } });

// checked is the end that the guest has told of. The program may have told it instead, so it can only be a value or an
// error.
function checked(text) {
  const end = JSON.parse(text);
  if (end.outcome !== 'value') return outcome('error', String(end.message));
  return JSON.stringify({ outcome: 'value', value: end.value ?? null });
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const flags = ['--no-prompt', '--cached-only', '--no-remote', '--no-npm', '--no-config', '--no-lock', '--no-code-cache'];
  const guest = `data:text/javascript;base64,${readFileSync(file('deno-guest.js')).toString('base64')}`;
  spawn(
    require('deno/install_api.cjs').runInstall(),
    ['run', ...flags, '--unstable-worker-options', `--allow-net=127.0.0.1:${port}`, file('deno-host.js'), port, guest],
    { stdio: ['ignore', 2, 2], env: { ...process.env, DENO_NO_UPDATE_CHECK: '1' } },
  ).on('exit', () => process.exit(1));
});
