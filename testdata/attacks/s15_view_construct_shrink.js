// Views made while their offset, length, prototype or species changes the buffer.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of [...kinds, DataView]) for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(0), b => b.resize(4096)]) {
  const fresh = () => new ArrayBuffer(1024, { maxByteLength: 4096 });
  let b = fresh();
  try { new K(b, { valueOf() { how(b); return 64; } }, 100)[99]; } catch (e) { }
  b = fresh();
  try { new K(b, 64, { valueOf() { how(b); return 100; } })[99]; } catch (e) { }
  b = fresh();
  const T = new Proxy(K, { get(t, k, r) { if (k === 'prototype') how(b); return Reflect.get(t, k, r); } });
  try { const a = Reflect.construct(K, [b, 64, 100], T); a[99]; a.length; } catch (e) { }
}
return 'alive';
