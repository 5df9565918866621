// indexOf, lastIndexOf, includes, at and join whose arguments change the buffer.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(512), b => b.resize(0)]) {
  const one = K.name.startsWith('Big') ? 1n : 1;
  for (const f of [(a, x) => a.indexOf(one, x), (a, x) => a.lastIndexOf(one, x), (a, x) => a.includes(undefined, x), (a, x) => a.at(x), (a, x) => a.join(x), (a, x) => a.subarray(x).length, (a, x) => a.toReversed().length + a.slice(x).length, (a, x) => a.set([one], x), (a, x) => a.toSorted(() => +x)]) {
    const b = new ArrayBuffer(128, { maxByteLength: 512 }), a = new K(b);
    try { f(a, { valueOf() { how(b); return 1; }, toString() { how(b); return ','; } }); } catch (e) { }
  }
}
return 'alive';
