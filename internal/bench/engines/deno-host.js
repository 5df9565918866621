// The side of deno.mjs that runs in Deno: a worker for each program, which it ends at the limit of time.
import { connect } from 'node:net';
import { lines } from './lines.mjs';

// The text of the guest as a URL: so no stack of a program names a file of the machine.
const [port, guest] = Deno.args;
const socket = connect(Number(port), '127.0.0.1');
let current = null;

socket.on('error', () => {});
socket.on('close', () => Deno.exit());
for await (const line of lines(socket.setEncoding('utf8'))) take(JSON.parse(line));

function take({ id, program, prelude, wall, ...answer }) {
  if (program === undefined) {
    if (id === current?.id) current.worker.postMessage(answer);
    return;
  }
  const worker = new Worker(guest, { type: 'module', deno: { permissions: 'none' } });
  const tell = (message) => socket.write(JSON.stringify({ id, ...message }) + '\n');
  const end = (message) => {
    if (current?.id !== id) return;
    current = null;
    clearTimeout(timer);
    worker.terminate();
    tell(message);
  };
  const timer = setTimeout(end, wall, { late: true });
  worker.onmessage = ({ data }) => {
    if (current?.id !== id) return;
    try {
      // Strings and numbers only: the program may have sent this itself.
      if (data.end !== undefined) end({ end: String(data.end) });
      else tell({ number: Number(data.number), name: String(data.name), args: String(data.args) });
    } catch {}
  };
  worker.onerror = (event) => {
    event.preventDefault(); // otherwise Deno ends
    end({ end: JSON.stringify({ outcome: 'error', message: event.message }) });
  };
  current = { id, worker };
  worker.postMessage({ prelude, program });
}
