// set() of a view onto itself, shifted, with other element sizes, while the buffer moves.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
const b = new ArrayBuffer(4096, { maxByteLength: 65536 });
for (const K of kinds) for (const L of kinds) {
  try { new K(b, 0, 16).set(new L(b, 8, 16), { valueOf() { b.resize(65536); b.resize(4096); return 0; } }); } catch (e) { }
}
return 'alive';
