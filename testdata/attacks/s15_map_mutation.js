// Map and Set changed in every way while they are walked by every kind of walk.
// The engine must stay sound: value.
for (const how of [m => m.clear(), (m, k) => m.delete(k), m => { for (let i = 0; i < 500; i++) m.set ? m.set({}, i) : m.add({}); }, (m, k) => { m.clear(); m.set ? m.set(k, 1) : m.add(k); }]) {
  for (const make of [() => new Map(Array.from({ length: 100 }, (_, i) => [i, { i }])), () => new Set(Array.from({ length: 100 }, (_, i) => i))]) {
    let n = 0;
    let m = make();
    m.forEach((v, k) => { if (n++ < 50) how(m, k); });
    m = make(); n = 0;
    for (const x of m) { if (n++ < 50) how(m, Array.isArray(x) ? x[0] : x); if (n > 2000) break; }
    m = make();
    const it = [m.keys(), m.values(), m.entries()];
    for (const i of it) { i.next(); how(m, 0); i.next(); how(m, 1); }
    m = null;
    for (const i of it) i.next();
  }
}
return 'alive';
