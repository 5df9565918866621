// The side of deno.mjs that runs in a worker, together with the program. It uses no built-in function that the program
// may have replaced.
const { parse, stringify } = JSON;
const AsyncFunction = (async () => {}).constructor;
const NewPromise = Promise;
const post = postMessage.bind(globalThis);
const open = { __proto__: null };
let last = 0;

const tool = (name) => (...args) =>
  new NewPromise((resolve, reject) => {
    const text = args.length ? stringify(args[0]) ?? '{}' : '{}';
    open[++last] = { resolve, reject };
    post({ number: last, name, args: text });
  });
globalThis.codemode = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };

addEventListener('message', async ({ data: { program, number, value, error } }) => {
  if (program === undefined) {
    const { resolve, reject } = open[number] ?? {};
    delete open[number];
    if (error === undefined) resolve?.(parse(value));
    else reject?.(new Error(error));
    return;
  }
  try {
    const result = stringify(await new AsyncFunction(program)());
    post({ outcome: 'value', value: result ?? 'null' });
  } catch (error) {
    post({ outcome: 'error', message: text(error) });
  }
});
addEventListener('unhandledrejection', (event) => event.preventDefault()); // otherwise it would end the worker

function text(error) {
  try {
    return `${error?.message ?? error}`;
  } catch {
    return 'it threw something without a message';
  }
}
