// The half of a driver that runs inside the engine, beside the program: protocol.Half describes it. It keeps what it
// needs of the language before the program can change it.
(function (call, end) {
  'use strict';
  const { parse, stringify } = JSON;
  const { Error, Promise, SyntaxError, TypeError } = globalThis;
  const { apply } = Reflect;
  const { toString } = Function.prototype;
  const AsyncFunction = (async () => {}).constructor;
  const open = { __proto__: null };
  const tool = (name) => (value = {}) =>
    new Promise((resolve, reject) => {
      const args = stringify(value);
      if (args === undefined) throw new TypeError(`${name}: the argument has no JSON`);
      open[call(name, args)] = { resolve, reject };
    });
  // Some engines put the text of a function together and evaluate it, so that a program can end its function and start
  // another one. That one has another text.
  const compile = (program) => {
    const body = new AsyncFunction(program);
    if (apply(toString, body, []) !== `async function anonymous(\n) {\n${program}\n}`)
      throw new SyntaxError('the program is no body of a function');
    return body;
  };
  globalThis.codemode = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  return {
    async run(program) {
      try {
        end('value', stringify(await compile(program)()) ?? 'null');
      } catch (error) {
        let message = 'it threw a value that has no text';
        try {
          message = `${error?.message ?? error}`;
        } catch {}
        end('error', message);
      }
    },
    answer(number, value, message) {
      const { resolve, reject } = open[number];
      delete open[number];
      if (value === undefined) reject(new Error(message));
      else resolve(parse(value));
    },
  };
})
