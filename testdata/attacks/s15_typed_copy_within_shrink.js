// copyWithin() whose arguments shrink the buffer one after the other.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (let at = 0; at < 3; at++) {
  const b = new ArrayBuffer(8000, { maxByteLength: 16000 }), a = new K(b);
  const args = [0, 1, 900].map((x, i) => i === at ? { valueOf() { b.resize(64); return x; } } : x);
  try { a.copyWithin(...args); } catch (e) { }
  b.resize(16000);
}
return 'alive';
