// The side of deno.mjs that runs in Deno: a worker for each program, which it ends at the limit of time.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const socket = connect(Number(Deno.args[0]), '127.0.0.1');
let current = null;

createInterface({ input: socket, crlfDelay: Infinity }).on('line', (line) => {
  const { id, program, wall, ...answer } = JSON.parse(line);
  if (program === undefined) {
    if (id === current?.id) current.worker.postMessage(answer);
    return;
  }
  const url = new URL('./deno-guest.js', import.meta.url);
  const worker = new Worker(url, { type: 'module', deno: { permissions: 'none' } });
  const say = (message) => {
    if (current?.id !== id) return;
    if (message.outcome) {
      current = null;
      clearTimeout(timer);
      worker.terminate();
    }
    socket.write(JSON.stringify({ id, ...message }) + '\n');
  };
  const timer = setTimeout(say, wall, { outcome: 'timeout' });
  worker.onmessage = ({ data }) => {
    try {
      say(checked(data));
    } catch {} // the program wrote a message itself
  };
  worker.onerror = (event) => {
    event.preventDefault(); // otherwise Deno ends
    say({ outcome: 'error', message: String(event.message) });
  };
  current = { id, worker };
  worker.postMessage({ program });
});
socket.on('error', () => {});
socket.on('close', () => Deno.exit());

// checked is a message of the guest, which the program may have written: it has strings and numbers only, and no
// outcome but those that a program may have by itself.
function checked({ outcome, value, message, number, name, args }) {
  if (outcome === 'value') return { outcome, value: String(value) };
  if (outcome === 'error') return { outcome, message: String(message) };
  return { number: Number(number), name: String(name), args: String(args) };
}
