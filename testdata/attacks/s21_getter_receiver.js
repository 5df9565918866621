// Accessors of built-in prototypes called on foreign receivers give errors, never memory. Value.
let n = 0, odd = 0;
const receivers = [null, undefined, 0, 'x', Symbol(), {}, [], () => {}, new Proxy({}, {}), globalThis, codemode, codemode.echo, Promise.prototype, Object.create(null), new Date(), /x/, new Map(), 1n];
for (const name of Reflect.ownKeys(globalThis)) {
  const ctor = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
  if (typeof ctor !== 'function' || !ctor.prototype || name === 'Error') continue;
  for (const k of Reflect.ownKeys(ctor.prototype)) {
    const d = Object.getOwnPropertyDescriptor(ctor.prototype, k);
    for (const f of [d.get, d.value]) if (typeof f === 'function' && k !== 'constructor') for (const r of receivers) {
      n++;
      try { const x = f.call(r); if (x && typeof x.then === 'function') x.then(() => {}, () => {}); } catch (e) { if (e === null) odd++; }
    }
  }
}
return n > 500 && odd === 0;
