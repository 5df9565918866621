// The side of deno.mjs that runs in a worker, together with the program.
const post = postMessage.bind(globalThis);
const NewPromise = Promise;
const open = { __proto__: null };
let last = 0;

const call = (name, args) =>
  new NewPromise((resolve) => {
    open[++last] = resolve;
    post({ number: last, name, args });
  });

addEventListener('message', async ({ data: { prelude, program, number, answer } }) => {
  if (program !== undefined) {
    post({ end: await (0, eval)(prelude)(call)(program) });
    return;
  }
  open[number]?.(answer);
  delete open[number];
});
addEventListener('unhandledrejection', (event) => event.preventDefault()); // otherwise it would end the worker
