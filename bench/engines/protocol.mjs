// The isolation protocol (docs/isolation-protocol.md), version 1, for drivers that run in Node.
import { createInterface } from 'node:readline';

// serve says hello and runs programs until the input ends. run gets {name, program, allow, limits, call} and returns, or
// promises, the JSON text of an outcome, without type and run. call(name, args) takes JSON text and promises the text of
// the harness's answer, which has a value or an error. It throws once the run has ended.
export function serve(hello, run) {
  say({ type: 'hello', protocol: 1, language: 'javascript', ...hello });
  let current = null;
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', async (line) => {
    const message = JSON.parse(line);
    if (message.type === 'answer') {
      if (message.run === current?.run) current.answer(message.call, line);
    } else if (message.type === 'run') {
      current = calls(message.run);
      let end;
      try {
        end = oneLine(await run({ ...message, call: current.call }));
      } catch (error) {
        end = outcome('error', String(error?.message ?? error));
      }
      current.ended = true;
      process.stdout.write(`{"type":"outcome","run":${message.run},${end.slice(1)}\n`);
    }
  });
  lines.on('close', () => process.exit(0));
}

// outcome is the text of an outcome without a value.
export const outcome = (outcome, message = '') => JSON.stringify({ outcome, message });

// calls are the calls of one run.
function calls(run) {
  const open = new Map();
  let last = 0;
  const state = {
    run,
    ended: false,
    call: async (name, args) => {
      if (state.ended) throw new Error('the run has ended');
      const call = ++last;
      const line = `${JSON.stringify({ type: 'call', run, call, name }).slice(0, -1)},"args":${oneLine(args)}}\n`;
      return new Promise((resolve) => {
        open.set(call, resolve);
        process.stdout.write(line);
      });
    },
    answer: (call, line) => {
      open.get(call)?.(line);
      open.delete(call);
    },
  };
  return state;
}

// oneLine is JSON text without line breaks. It throws if text is no JSON: a program that escapes may have written it.
function oneLine(text) {
  JSON.parse(text);
  return text.replace(/[\r\n]/g, ' ');
}

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

// prelude is an expression of the guest's language. Its value is a function that takes call, as above, defines
// codemode, and returns the function that runs a program and promises the text of its outcome. It keeps what it needs of
// the guest's globals before a program can replace them.
export const prelude = `(call) => {
  const { stringify, parse } = JSON;
  const { apply } = Reflect;
  const { add, has } = WeakSet.prototype;
  const AsyncFunction = (async () => {}).constructor;
  const denied = new WeakSet();
  const tool = (name) => async (...args) => {
    const text = args.length === 0 ? '{}' : stringify(args[0]);
    const answer = parse(await call(name, text === undefined ? 'null' : text));
    if (answer.error) {
      const error = new Error(answer.error.message);
      if (answer.error.code === 'denied') apply(add, denied, [error]);
      throw error;
    }
    return answer.value;
  };
  globalThis.codemode = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  return async (program) => {
    try {
      const value = stringify(await new AsyncFunction(program)());
      return '{"outcome":"value","value":' + (value === undefined ? 'null' : value) + '}';
    } catch (error) {
      const isDenied = typeof error === 'object' && error !== null && apply(has, denied, [error]);
      let message = 'an error without a text';
      try { message = String(error?.message ?? error); } catch {}
      return '{"outcome":"' + (isDenied ? 'denied' : 'error') + '","message":' + stringify(message) + '}';
    }
  };
}`;

// within promises what a promise does, and the outcome timeout when it takes longer than the limit. late is called then.
export async function within(ms, promise, late = () => {}) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(() => {
      late();
      resolve(outcome('timeout'));
    }, ms);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
