// Doubles whose two halves always XOR to the same word: every Map key has the same hash, so each
// lookup walks them all. The outer stop ends it.
const f = new Float64Array(1), w = new Uint32Array(f.buffer);
const m = new Map();
for (let i = 1; i < 250000; i++) {
  w[1] = 0x3ff00000 + i;
  w[0] = w[1] ^ 0x5bd1e995;
  m.set(f[0], i);
}
return m.size;
