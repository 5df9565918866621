// quickjs-emscripten: a new WebAssembly module, runtime and context for each program, with the limits of its
// documentation. The argument asyncify takes the build that can wait for the host; programs call tools by promises in
// both, as its documentation advises.
import {
  newQuickJSAsyncWASMModule,
  newQuickJSWASMModule,
  shouldInterruptAfterDeadline,
} from 'quickjs-emscripten';
import { createRequire } from 'node:module';
import { outcome, prelude, serve, within } from './protocol.mjs';

const asyncify = process.argv[2] === 'asyncify';

serve(
  {
    name: asyncify ? 'quickjs-emscripten-asyncify' : 'quickjs-emscripten',
    version: createRequire(import.meta.url)('quickjs-emscripten/package.json').version,
    claims: ['time', 'memory', 'calls', 'parallel'],
    note: 'https://github.com/justjake/quickjs-emscripten#interrupting-execution',
  },
  async ({ program, limits, call }) => {
    const module = await (asyncify ? newQuickJSAsyncWASMModule() : newQuickJSWASMModule());
    const runtime = module.newRuntime();
    runtime.setMemoryLimit(limits.memory_bytes);
    runtime.setMaxStackSize(512 * 1024);
    const deadline = Date.now() + limits.wall_ms;
    runtime.setInterruptHandler(shouldInterruptAfterDeadline(deadline));
    const vm = runtime.newContext();
    let ended = false;
    const jobs = () => {
      if (!ended) runtime.executePendingJobs().dispose?.();
    };
    const callTool = vm.newFunction('call', (name, args) => {
      const promise = vm.newPromise();
      call(vm.getString(name), vm.getString(args)).then(
        (answer) => {
          if (ended) return;
          vm.newString(answer).consume((text) => promise.resolve(text));
          jobs();
        },
        () => {},
      );
      return promise.handle;
    });
    const failure = (error) => {
      const { name, message } = vm.dump(error) ?? {};
      if (Date.now() >= deadline) return outcome('timeout');
      return outcome(/out of memory/.test(message) ? 'memory' : 'error', `${name}: ${message}`);
    };
    const results = [vm.evalCode(prelude)];
    for (const argument of [callTool, vm.newString(program)]) {
      const last = results.at(-1);
      if (last.error) return failure(last.error);
      results.push(vm.callFunction(last.value, vm.undefined, argument));
    }
    if (results.at(-1).error) return failure(results.at(-1).error);
    const settled = vm.resolvePromise(results.at(-1).value);
    jobs();
    const text = settled.then((end) => (end.error ? failure(end.error) : vm.getString(end.value)));
    const end = await within(deadline - Date.now(), text);
    ended = true; // the module goes with its memory, which nothing else uses
    return Date.now() >= deadline ? outcome('timeout') : end;
  },
);
