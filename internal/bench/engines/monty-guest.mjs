// The process of monty.mjs in which Monty runs. A program gets codemode as a dataclass, whose methods are calls of tools.
import { Monty, MontyComplete, MontyNameLookup } from '@pydantic/monty';
import { Worker } from 'node:worker_threads';

// It ends with the driver, even while a program computes.
new Worker("require('fs').readSync(0, Buffer.alloc(1)); process.kill(process.pid, 'SIGKILL')", { eval: true }).unref();

const codemode = { __monty_type__: 'Dataclass', name: 'codemode', typeId: 1n, fieldNames: [], fields: {}, frozen: true };
let progress = null;

process.on('message', ({ program, limits, answer }) => {
  try {
    if (answer !== undefined) return step(progress.resume(resumed(JSON.parse(answer))));
    const monty = new Monty(awaitable(program), { inputs: ['codemode'] });
    const { cpu_ms, memory_bytes } = limits;
    step(monty.start({ inputs: { codemode }, limits: { maxDurationSecs: cpu_ms / 1000, maxMemory: memory_bytes } }));
  } catch (error) {
    const { typeName: type = error.name, message = String(error.message) } = error.exception ?? {};
    process.send({ error: { type, message } });
  }
});

// step goes on until the program calls a tool or ends.
function step(now) {
  progress = now;
  while (progress instanceof MontyNameLookup) progress = progress.resume(); // there is no other name
  if (progress instanceof MontyComplete) return process.send({ end: toJSON(progress.output) });
  const [, ...args] = progress.args; // after the dataclass
  process.send({ name: progress.functionName, args: args.length ? toJSON(args[0]) : '{}' });
}

function resumed({ value, error }) {
  return error ? { exception: { type: 'RuntimeError', message: error.message } } : { returnValue: toPython(value) };
}

// awaitable lets a program await its calls. Monty's calls return values that Python cannot await, so each codemode.echo
// outside of strings and comments becomes the name of an async function around it.
function awaitable(program) {
  const names = ['echo', 'slow', 'fail', 'secret'];
  const define = (name) => `async def codemode_${name}(*args):\n    return codemode.${name}(*args)\n`;
  const skipped = /"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#.*/.source;
  const call = new RegExp(`(${skipped})|(?<![\\w.])codemode\\.(${names.join('|')})\\b`, 'gs');
  const text = program.replace(call, (whole, skip, name) => (skip === undefined ? `codemode_${name}` : whole));
  return names.map(define).join('') + text;
}

// toJSON writes a value as Python's json.dumps does.
function toJSON(value) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) return String(value);
  if (Array.isArray(value)) return `[${value.map(toJSON).join(',')}]`;
  if (!(value instanceof Map)) throw new TypeError('the value is no JSON');
  const pairs = Array.from(value, ([key, item]) => {
    if (typeof key === 'object' && key !== null) throw new TypeError('a key is no text');
    return `${JSON.stringify(typeof key === 'string' ? key : toJSON(key))}:${toJSON(item)}`;
  });
  return `{${pairs.join(',')}}`;
}

// toPython makes a Map of each object: Monty reads objects with certain keys as other types.
function toPython(value) {
  if (Array.isArray(value)) return value.map(toPython);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, toPython(item)]));
}
