// BigInt arithmetic at limb borders, with all operators, checked against each other.
// The engine must stay sound: value.
const xs = [];
for (const b of [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 1023, 1024]) for (const d of [-1n, 0n, 1n]) xs.push((1n << BigInt(b)) + d, -(1n << BigInt(b)) + d);
for (const a of xs) for (const b of xs) {
  if ((a + b) - b !== a || ((a ^ b) ^ b) !== a || BigInt(a.toString()) !== a || BigInt.asIntN(64, BigInt.asUintN(64, a)) !== BigInt.asIntN(64, a)) throw new Error('sum');
  if (b !== 0n && (a / b) * b + a % b !== a) throw new Error('quotient');
  if ((a & b) + (a | b) !== a + b) throw new Error('bits');
}
return 'alive';
