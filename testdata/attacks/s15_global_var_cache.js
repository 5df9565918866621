// Globals deleted, redefined and turned into accessors while compiled code refers to them.
// The engine must stay sound: value.
for (let i = 0; i < 500; i++) {
  globalThis['g' + i] = i;
  const f = Function(`return typeof g${i} === 'undefined' ? 0 : g${i}`);
  f(); delete globalThis['g' + i]; f();
  Object.defineProperty(globalThis, 'g' + i, { get() { delete globalThis['g' + i]; return i; }, configurable: true });
  for (let k = 0; k < 2; k++) { try { f(); } catch (e) { if (!(e instanceof ReferenceError)) throw e; } }
}
return 'alive';
