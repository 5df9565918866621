// Dates, radix conversions and exponents at their limits.
// The engine must stay sound: value.
for (const x of [NaN, Infinity, -Infinity, 8.64e15, -8.64e15, 8.64e15 + 1, 2 ** 53, -0, 5e-324, 1.7976931348623157e308, 1e21, 123456789.123456789]) {
  const d = new Date(x);
  try { d.toISOString(); } catch (e) { }
  String(d); d.setMonth(1e9); d.setFullYear(-1e9); d.getTimezoneOffset(); d.setHours(x, x, x, x);
  for (let r = 2; r <= 36; r++) x.toString(r);
  for (const k of [0, 1, 20, 50, 100]) { try { x.toFixed(k); x.toExponential(k); x.toPrecision(k || 1); } catch (e) { } }
}
for (const s of ['', ' ', '+', '-', '.', 'e', '1e', '0x', '0b2', '1_0', '1e99999999999', '-1e-99999999999', '0.' + '0'.repeat(1000) + '1', '9'.repeat(1000), 'Infinity1', '\u2028 12 \ufeff']) { Number(s); parseFloat(s); for (let r = 2; r < 37; r += 7) parseInt(s, r); Date.parse(s); try { BigInt(s); } catch (e) { } }
for (const s of ['2000-13-45T99:99:99Z', '+275760-09-13T00:00:00.001Z', '-000000-01-01', '0'.repeat(500), '1/1/1 (((((', 'Jan 1 2000 GMT+9999999999', '2000-01-01T00:00:00.' + '9'.repeat(500) + 'Z', 'T'.repeat(100), '1 '.repeat(200)]) Date.parse(s);
return 'alive';
