// Runs a command until the input ends, for programs that do not notice that the driver was killed.
import { spawn } from 'node:child_process';

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['ignore', 2, 2, 3] });
child.on('exit', (code) => process.exit(code ?? 1));
process.stdin.resume().on('close', () => child.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {}); // the driver gets them, too
