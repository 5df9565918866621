// Function names as accessors, symbols and megabytes when stacks are written.
// The engine must stay sound: value.
const fs = [];
for (const d of [{ get() { throw new Error('name'); } }, { value: 'x'.repeat(1e6) }, { value: Symbol('s') }, { value: 5 }, { value: '\u0000\ud800' }, { get() { return new Error('deep').stack; } }]) {
  const f = function () { return new Error('x').stack; };
  Object.defineProperty(f, 'name', { ...d, configurable: true });
  try { f(); } catch (e) { }
}
return 'alive';
