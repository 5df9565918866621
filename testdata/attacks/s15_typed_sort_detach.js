// sort() whose comparator detaches, shrinks or grows the buffer.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (const how of [b => b.transfer(0), b => b.resize(8), b => { b.resize(8); b.resize(4096); }, b => b.resize(4096)]) {
  const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), a = new K(b);
  let n = 0;
  try { a.sort((x, y) => { if (n++ === 5) how(b); return x < y ? 1 : -1; }); } catch (e) { }
}
return 'alive';
