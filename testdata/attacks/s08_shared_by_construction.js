// Shared memory cannot be had by other doors either. Value.
const doors = [
  () => structuredClone(new ArrayBuffer(8), { shared: true }).growable,
  () => WebAssembly && new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }),
];
let n = 0;
for (const door of doors) { try { if (door()) n++; } catch (e) { } }
return n;
