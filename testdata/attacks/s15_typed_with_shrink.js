// with() whose index and value shrink, grow or detach the buffer.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(4096), b => b.resize(0)]) {
  const one = K.name.startsWith('Big') ? 1n : 1;
  for (const at of [0, 1]) {
    const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), a = new K(b);
    try { a.with(at ? 100 : { valueOf() { how(b); return 100; } }, at ? { valueOf() { how(b); return one; } } : one); } catch (e) { }
  }
}
return 'alive';
