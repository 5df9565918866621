// Evaluates one test of test262 in its `input`: {harness, test, async}. The
// texts are global code, which a program can only evaluate by indirect eval.
// Returns "" if nothing was thrown, else the error's constructor and message on
// two lines. A test may change every global, so what is used afterwards is kept here.
const evaluate = globalThis.eval;
const { log } = console;
const transfer = Function.prototype.call.bind(ArrayBuffer.prototype.transfer);
const detached = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'detached').get);
const text = String;
// Awaited, it leaves the rest to timers and jobs: the run ends when there are none.
const forever = new Promise(() => {});
Object.defineProperty(forever, 'constructor', { value: Promise });

globalThis.print = v => log(text(v));
globalThis.$262 = {
  global: globalThis,
  evalScript: source => evaluate(source),
  detachArrayBuffer(buffer) { if (!detached(buffer)) transfer(buffer); return null; },
};

const { harness, test, async: waits } = input;
try {
  evaluate(harness);
  evaluate(test);
} catch (e) {
  let name = '', message = '';
  try { name = text(e.constructor.name); } catch {}
  try { message = text(e.message ?? e); } catch {}
  return `${name || 'something'}\n${message}`;
}
if (waits) await forever;
return '';
