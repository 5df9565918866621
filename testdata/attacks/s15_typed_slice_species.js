// slice() whose species gives a shorter, longer, detached, other-typed or overlapping array.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) {
  let b, a;
  const species = [
    n => { b.resize(16); return new K(n); }, n => new K(new ArrayBuffer(n * 8, { maxByteLength: n * 8 })),
    n => new K(b, 8), n => { const x = new K(n); x.buffer.transfer(0); return x; }, n => new Uint8Array(n * 8), n => a,
    n => { const x = new ArrayBuffer(n * 8, { maxByteLength: n * 8 }), y = new K(x); x.resize(0); return y; },
  ];
  for (const f of species) {
    b = new ArrayBuffer(1024, { maxByteLength: 4096 });
    a = new K(b);
    a.constructor = { [Symbol.species]: function (n) { return f(n); } };
    try { a.slice(1, a.length - 1); } catch (e) { }
    try { a.map(x => x); } catch (e) { }
    try { a.filter(() => true); } catch (e) { }
    try { a.subarray(1, 5); } catch (e) { }
  }
}
return 'alive';
