// every callback method of a typed array while the callback changes the buffer.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(4096), b => b.resize(0)]) {
  for (const m of ['forEach', 'map', 'filter', 'every', 'some', 'find', 'findIndex', 'findLast', 'findLastIndex', 'reduce', 'reduceRight']) {
    const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), a = new K(b);
    let n = 0;
    try { a[m](x => { if (n++ === 3) how(b); return x; }); } catch (e) { }
  }
  const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), a = new K(b);
  let n = 0;
  try { for (const x of a.entries()) if (n++ === 3) how(b); } catch (e) { }
  try { for (const i in a) if (n++ === 9) how(b); } catch (e) { }
}
return 'alive';
