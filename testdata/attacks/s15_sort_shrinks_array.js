// Array sort whose comparator empties, grows, freezes or replaces the array.
// The engine must stay sound: value.
for (const how of [a => { a.length = 0; }, a => { for (let i = 0; i < 10000; i++) a.push(i); }, a => Object.freeze(a), a => { a.length = 2 ** 32 - 1; }, a => { a.splice(0, 50); }, a => { Object.defineProperty(a, 3, { get() { a.length = 1; return 1; }, configurable: true }); }]) {
  for (const src of [Array.from({ length: 100 }, (_, i) => ({ i })), Array.from({ length: 100 }, (_, i) => 'k' + i)]) {
    let n = 0;
    try { src.sort((x, y) => { if (n++ === 20) how(src); return n % 3 - 1; }); } catch (e) { }
    let m = 0;
    const b = Array.from({ length: 100 }, (_, i) => ({ toString() { if (m++ === 20) how(b); return 'x' + i; } }));
    try { b.sort(); } catch (e) { }
    try { b.toSorted(); } catch (e) { }
    src.length > 1e6 && (src.length = 0);
  }
}
return 'alive';
