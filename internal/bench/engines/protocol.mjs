// The isolation protocol (docs/isolation-protocol.md), version 1, for drivers that run in Node.
import { lines } from './lines.mjs';

// serve says hello and runs programs until the input ends. run gets {name, program, allow, limits, call} and returns,
// or promises, the JSON text of an outcome, whose first field is outcome, without type and run. call(name, args)
// takes JSON text and promises the text of the harness's answer, which has a value or an error. The promise is
// rejected if args is no JSON, and stays pending for ever once the run has ended: what a program does then should not
// go on.
export async function serve(hello, run) {
  say({ type: 'hello', protocol: 1, language: 'javascript', ...hello });
  let current = null;
  for await (const line of lines(process.stdin.setEncoding('utf8'))) {
    const message = JSON.parse(line);
    if (message.type === 'answer') {
      if (message.run === current?.run) current.answer(message.call, line);
    } else if (message.type === 'run') {
      current = calls(message.run);
      start(message, current);
    }
  }
  process.exit(0);

  async function start(message, state) {
    let end;
    try {
      end = oneLine(await run({ ...message, call: state.call }));
      if (!end.startsWith('{"outcome":')) throw new Error(`no outcome, but ${end.slice(0, 100)}`);
    } catch (error) {
      end = outcome('error', String(error?.message ?? error));
    }
    state.ended = true;
    // type and run come last, so that an outcome that a program forged cannot replace them.
    process.stdout.write(`${end.slice(0, -1)},"type":"outcome","run":${message.run}}\n`);
  }
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
      const text = oneLine(args);
      if (state.ended) return new Promise(() => {});
      const call = ++last;
      return new Promise((resolve) => {
        open.set(call, resolve);
        process.stdout.write(`${JSON.stringify({ type: 'call', run, call, name }).slice(0, -1)},"args":${text}}\n`);
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
  return text.replace(/[\r\n]/g, ' ').trim();
}

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

// prelude is an expression of the guest's language. Its value is a function that takes call, as above, defines
// codemode, and returns the function that runs a program and promises the text of its outcome. It keeps what it needs
// of the guest's globals before a program can replace them: neither what a program does to prototypes, nor an error
// that it makes up, changes what the outcome says of it.
export const prelude = `(call) => {
  'use strict';
  const { Error, Promise, String, SyntaxError } = globalThis;
  const { stringify, parse } = JSON;
  const { apply, defineProperty } = Reflect;
  const { hasOwn } = Object;
  const { add, has } = WeakSet.prototype;
  const { toString } = Function.prototype;
  const AsyncFunction = (async () => {}).constructor;
  const denied = new WeakSet();
  // An await takes such a promise as it is; of others it asks Promise.prototype, which a program may have changed.
  const own = (promise) => {
    defineProperty(promise, 'constructor', { __proto__: null, value: Promise });
    return promise;
  };
  const ask = async (name, args) => {
    let answer;
    try {
      answer = parse(await own(call(name, args)));
    } catch {
      throw new Error('the call failed'); // what was caught may be an object of the host
    }
    if (!hasOwn(answer, 'error')) return answer.value;
    const error = new Error(answer.error.message);
    if (answer.error.code === 'denied') apply(add, denied, [error]);
    throw error;
  };
  const tool = (name) => async (...args) => {
    const text = args.length === 0 ? '{}' : stringify(args[0]);
    return await own(ask(name, text === undefined ? 'null' : text));
  };
  globalThis.codemode = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  // Some engines put the text of a function together and evaluate it, so that a program can end its function and go on
  // outside. That one has another text.
  const compile = (program) => {
    const body = new AsyncFunction(program);
    if (apply(toString, body, []) !== 'async function anonymous(\\n) {\\n' + program + '\\n}')
      throw new SyntaxError('the program is no body of a function');
    return body;
  };
  const run = async (program) => {
    try {
      const value = stringify(await own(compile(program)()));
      return '{"outcome":"value","value":' + (value === undefined ? 'null' : value) + '}';
    } catch (error) {
      const isDenied = typeof error === 'object' && error !== null && apply(has, denied, [error]);
      let message = 'an error without a text';
      try { message = String(error?.message ?? error); } catch {}
      return '{"outcome":"' + (isDenied ? 'denied' : 'error') + '","message":' + stringify(message) + '}';
    }
  };
  return (program) => own(run(program));
}`;

// mailbox is an expression of the guest's language, for guests that pass nothing but texts. Its value is a function
// that takes send(id, name, args) and returns call, for prelude, and answer(id, text), which settles a call.
export const mailbox = `(send) => {
  'use strict';
  const { Promise } = globalThis;
  const open = { __proto__: null };
  let last = 0;
  return {
    call: (name, args) => new Promise((resolve) => {
      open[++last] = resolve;
      send(last, name, args);
    }),
    answer: (id, text) => {
      open[id]?.(text);
      delete open[id];
    },
  };
}`;

// within promises what a promise does, and the outcome timeout when it takes longer than the limit. late is called
// then.
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

// outOfMemory is the text of an outcome, or of the outcome memory if QuickJS ended the program at its limit of
// memory. Its error is one that a program can make up, so the WebAssembly memory, which never shrinks, has to be
// evidence: half the limit, as the request that fails may be as large as all that was held.
export function outOfMemory(text, memory, limits) {
  const used = memory.buffer.byteLength >= limits.memory_bytes / 2;
  return used && text === outcome('error', 'out of memory') ? outcome('memory', 'out of memory') : text;
}
