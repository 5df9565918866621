// sort() with comparators that contradict themselves, answer NaN, infinities, or at random.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
let seed = 1;
const rnd = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
for (const f of [() => rnd() - 0.5, () => 1, () => -1, () => NaN, () => -Infinity, () => rnd() < 0.5 ? undefined : 1]) {
  for (const n of [2, 3, 7, 31, 100, 1000]) {
    const a = Array.from({ length: n }, (_, i) => i);
    if ([...a].sort(f).length !== n || new Float64Array(a).sort(f).length !== n) throw new Error('lost some');
    if (new Set([...a].sort(f)).size !== n) throw new Error('lost some');
  }
}
return 'alive';
