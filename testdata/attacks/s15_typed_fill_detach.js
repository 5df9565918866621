// fill() whose value detaches the buffer while it is turned into a number.
// The engine must stay sound: value.
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
for (const K of kinds) {
  const a = new K(1000);
  try { a.fill({ valueOf() { a.buffer.transfer(0); return K.name.startsWith('Big') ? 1n : 1; } }); } catch (e) { }
  if (a.length !== 0) throw new Error('still there');
}
return 'alive';
