// Atomics.waitAsync for a tenth of a millisecond may not wake anybody more often than once a millisecond. Value.
if (typeof Atomics === 'undefined' || !Atomics.waitAsync || typeof SharedArrayBuffer === 'undefined') return true;
const a = new Int32Array(new SharedArrayBuffer(4)), start = Date.now();
let n = 0;
while (Date.now() - start < 50 && n < 5000) { await Atomics.waitAsync(a, 0, 0, 0.1).value; n++; }
return n <= Date.now() - start + 2;
