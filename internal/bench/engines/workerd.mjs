// workerd with the executor of @cloudflare/codemode: a dynamic worker without network for each program. The executor
// runs in workerd (workerd-host.js). A run is one request on loopback: its body has the program and then the answers of
// tools, its response the calls and then the end, as JSON lines.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { lines } from './lines.mjs';
import { outcome, serve } from './protocol.mjs';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const version = (name) => JSON.parse(readFileSync(file(`node_modules/${name}/package.json`))).version;

// The executor's time-out is a timer in the isolate of the program, so it does not end a program that computes. Limits of
// processor time and memory are Cloudflare's platform's, not workerd's. That is why this claims neither.
const hello = {
  name: '@cloudflare/codemode on workerd',
  version: `${version('@cloudflare/codemode')} on ${version('workerd')}`,
  claims: ['calls', 'parallel', 'timers', 'console'],
  note: 'https://developers.cloudflare.com/agents/api-reference/codemode/',
};

const { default: workerd } = createRequire(import.meta.url)('workerd');
const args = [file('keeper.mjs'), workerd, 'serve', '--experimental', '--control-fd=3', file('workerd.capnp')];
const keeper = spawn(process.execPath, args, { stdio: ['pipe', 2, 2, 'pipe'] });
keeper.on('exit', () => process.exit(1)); // the harness sees that the engine has crashed
const { value: listening } = await lines(keeper.stdio[3].setEncoding('utf8')).next();
start(`http://127.0.0.1:${JSON.parse(listening).port}`);

function start(host) {
  serve(hello, ({ program, limits, call }) =>
    new Promise((resolve, reject) => {
      const started = performance.now();
      const run = request(host, { method: 'POST' });
      const say = (message) => run.write(JSON.stringify(message) + '\n');
      const take = async ({ id, name, args, end }) => {
        if (end === undefined) {
          say({ id, answer: await call(name, args).catch(({ message }) => JSON.stringify({ error: { message } })) });
          return;
        }
        run.end();
        const late = end.error === 'Execution timed out' && performance.now() - started >= limits.wall_ms;
        if (typeof end.result === 'string') resolve(`{"outcome":"value","value":${end.result}}`);
        else resolve(outcome(late ? 'timeout' : 'error', String(end.error)));
      };
      run.on('response', async (response) => {
        try {
          for await (const line of lines(response.setEncoding('utf8'))) take(JSON.parse(line));
          throw new Error('workerd ended the run');
        } catch (error) {
          reject(error);
        }
      });
      run.on('error', reject);
      say({ program, wall: limits.wall_ms });
    }),
  );
}
