// set() from an object whose getters shrink and grow the target.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) {
  const b = new ArrayBuffer(800, { maxByteLength: 8000 }), a = new K(b), one = K.name.startsWith('Big') ? 1n : 1;
  const src = { length: 50 };
  for (let i = 0; i < 50; i++) Object.defineProperty(src, i, { get() { b.resize(i % 3 ? 8 : 8000); return one; } });
  try { a.set(src, { valueOf() { b.resize(8000); return 3; } }); } catch (e) { }
}
return 'alive';
