// The side of workerd.mjs that runs in workerd: the executor of @cloudflare/codemode, set up as its page says.
import { DynamicWorkerExecutor } from '@cloudflare/codemode';
import { parse } from '@cloudflare/acorn';
import { lines } from 'lines.mjs';

export default {
  async fetch(request, env, context) {
    const { readable, writable } = new IdentityTransformStream();
    context.waitUntil(serve(lines(request.body.pipeThrough(new TextDecoderStream())), writable.getWriter(), env.LOADER));
    return new Response(readable);
  },
};

async function serve(input, output, loader) {
  const { program, wall } = JSON.parse((await input.next()).value);
  const encoder = new TextEncoder();
  const say = (message) => output.write(encoder.encode(JSON.stringify(message) + '\n'));
  const open = new Map();
  let last = 0;
  const tool = (name) => async (...args) => {
    const text = args.length === 0 ? '{}' : JSON.stringify(args[0]);
    say({ id: ++last, name, args: text ?? 'null' });
    const { value, error } = JSON.parse(await new Promise((resolve) => open.set(last, resolve)));
    if (error) throw new Error(error.message);
    return value;
  };
  const fns = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  const executor = new DynamicWorkerExecutor({ loader, timeout: wall });
  const run = async () => executor.execute(functionOf(program), [{ name: 'codemode', fns }]);
  run()
    .catch((error) => ({ error: String(error?.message ?? error) }))
    .then((end) => say({ end }));
  for await (const line of input) {
    const { id, answer } = JSON.parse(line);
    open.get(id)(answer);
    open.delete(id);
  }
  await output.close();
}

// functionOf is the arrow function that the executor wants. It returns the JSON text of what the program returns.
function functionOf(program) {
  // The executor puts it into a larger program as it is, so it has to be the body of a function.
  parse(program, {
    ecmaVersion: 'latest',
    sourceType: 'script',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
  });
  return `async () => await (({ stringify }) => async (run) => stringify(await run()) ?? 'null')(JSON)(async function () {
${program}
})`;
}
