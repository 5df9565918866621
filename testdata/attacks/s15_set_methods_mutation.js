// Set algebra with a partner whose has() and keys() empty and grow the set.
// The engine must stay sound: value.
for (const op of ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom']) {
  if (!Set.prototype[op]) continue;
  for (const how of [s => s.clear(), s => { for (const x of [...s]) s.delete(x); for (let i = 0; i < 300; i++) s.add({}); }, s => s.delete(3)]) for (const size of [0, 2, 1000, Infinity]) {
    const s = new Set([1, 2, 3, 4, 5, {}, 'x']);
    let n = 0;
    const other = { size, has() { if (n++ < 20) how(s); return n % 2 === 0; }, keys() { how(s); return { next() { if (n++ < 20) how(s); return { done: n > 30, value: n }; } }; } };
    try { s[op](other); } catch (e) { }
  }
}
return 'alive';
