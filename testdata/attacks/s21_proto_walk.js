// Walking prototypes and constructors from everything that the bridge hands out ends in this guest. Value.
const seen = new Set();
const queue = [codemode, input_(), codemode.echo, codemode.echo(1), globalThis, ...['console', 'setTimeout', 'structuredClone'].map(k => globalThis[k])];
function input_() { return typeof input === 'undefined' ? {} : input; }
let odd = 0;
while (queue.length && seen.size < 3000) {
  const o = queue.pop();
  if (o === null || (typeof o !== 'object' && typeof o !== 'function') || seen.has(o)) continue;
  seen.add(o);
  let keys = [];
  try { keys = Reflect.ownKeys(o); } catch (e) { }
  for (const k of keys) { let d; try { d = Object.getOwnPropertyDescriptor(o, k); } catch (e) { } if (d) queue.push(d.value, d.get, d.set); }
  try { queue.push(Object.getPrototypeOf(o)); } catch (e) { }
  if (typeof o === 'function') { const t = Function.prototype.toString.call(o); if (/wasm|import\(|\/root|\/home|\.go:/.test(t)) odd++; }
}
return odd;
