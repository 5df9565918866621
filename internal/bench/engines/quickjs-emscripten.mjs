// quickjs-emscripten: a new WebAssembly module for each program, for the "strictest possible isolation guarantees" of
// its documentation, with limits of memory, stack and time as it advises. With the argument asyncify, the module is
// the build that can wait for the host in the middle of a call. Programs call tools by promises in both: an
// asyncified module waits for one call at a time only.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  newQuickJSAsyncWASMModuleFromVariant,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  RELEASE_ASYNC,
  RELEASE_SYNC,
  shouldInterruptAfterDeadline,
} from 'quickjs-emscripten';
import { outcome, outOfMemory, prelude, serve, within } from './protocol.mjs';

const asyncify = process.argv[2] === 'asyncify';
const require = createRequire(import.meta.url);
const file = `@jitl/quickjs-wasmfile-release-${asyncify ? 'asyncify' : 'sync'}/wasm`;
const wasmModule = await WebAssembly.compile(readFileSync(require.resolve(file))); // once, not for each program
const newModule = asyncify
  ? () => newQuickJSAsyncWASMModuleFromVariant(newVariant(RELEASE_ASYNC, { wasmModule }))
  : () => newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmModule }));

serve(
  {
    name: asyncify ? 'quickjs-emscripten-asyncify' : 'quickjs-emscripten',
    version: require('quickjs-emscripten/package.json').version,
    claims: ['time', 'memory', 'calls', 'parallel'],
    note: 'https://github.com/justjake/quickjs-emscripten#interfacing-with-the-interpreter',
  },
  async ({ program, limits, call }) => {
    const deadline = Date.now() + limits.wall_ms;
    const late = shouldInterruptAfterDeadline(deadline);
    const module = await newModule();
    const runtime = module.newRuntime();
    runtime.setMemoryLimit(limits.memory_bytes);
    runtime.setMaxStackSize(320 * 1024);
    let ended = false; // by itself, by the limit, or because the module broke; nothing may enter it then
    let end;
    const finished = new Promise((resolve) => {
      end = (text) => {
        ended = true;
        resolve(text);
      };
    });
    runtime.setInterruptHandler(() => {
      if (!late(runtime)) return false;
      end(outcome('timeout')); // no program can catch it
      return true;
    });
    const vm = runtime.newContext();
    // enter does something in the module, and then its jobs. An error of a job does not end those that wait.
    const enter = (work) => {
      if (ended) return;
      try {
        work();
        let failed;
        do {
          failed = runtime.executePendingJobs().error;
          failed?.dispose();
        } while (failed && !ended);
        const state = promise && !ended && vm.getPromiseState(promise);
        if (state.type === 'fulfilled') end(vm.getString(state.value));
        if (state.type === 'rejected') end(outcome('error', String(vm.dump(state.error)?.message)));
      } catch (error) {
        end(outcome('error', String(error?.message ?? error)));
      }
    };
    let promise;
    const ask = vm.newFunction('call', (name, args) => {
      const deferred = vm.newPromise();
      call(vm.getString(name), vm.getString(args)).then((answer) =>
        enter(() => vm.newString(answer).consume((text) => deferred.resolve(text))),
      );
      return deferred.handle;
    });
    enter(() => {
      const start = vm.unwrapResult(vm.evalCode(prelude));
      const run = vm.unwrapResult(vm.callFunction(start, vm.undefined, ask));
      promise = vm.unwrapResult(vm.callFunction(run, vm.undefined, vm.newString(program)));
    });
    const text = await within(deadline - Date.now(), finished);
    ended = true; // nothing else uses the module, so it goes with all its memory
    return outOfMemory(text, module.getWasmMemory(), limits);
  },
);
