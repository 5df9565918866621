// fill() whose end shrinks the buffer while it is turned into a number.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) {
  const b = new ArrayBuffer(8000, { maxByteLength: 8000 }), a = new K(b);
  try { a.fill(K.name.startsWith('Big') ? 1n : 1, 0, { valueOf() { b.resize(8); return 1000; } }); } catch (e) { }
  b.resize(8000);
  if (new Uint8Array(b).subarray(8).some(Boolean)) throw new Error('wrote behind the end');
}
return 'alive';
