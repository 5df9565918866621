// Storing an element whose value detaches or shrinks the buffer while it is converted.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(0)]) {
  const one = K.name.startsWith('Big') ? 1n : 1;
  for (const store of [(a, v) => { a[100] = v; }, (a, v) => Reflect.set(a, 100, v), (a, v) => Object.defineProperty(a, 100, { value: v, writable: true, enumerable: true, configurable: true }), (a, v) => { a[0] += v; }, (a, v) => { [a[50]] = [v]; }]) {
    const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), a = new K(b);
    try { store(a, { valueOf() { how(b); return one; } }); } catch (e) { }
  }
}
return 'alive';
