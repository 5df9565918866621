// Map.getOrInsertComputed whose callback inserts, deletes and clears the same key.
// The engine must stay sound: value.
for (const K of [Map, WeakMap]) if (K.prototype.getOrInsertComputed) {
  const key = {}, m = new K();
  for (const f of [() => { m.set(key, 1); return 2; }, () => { m.delete(key); return 3; }, () => { m.clear && m.clear(); return 4; }, () => m.getOrInsertComputed(key, () => { m.delete(key); return 5; }), () => { for (let i = 0; i < 1000; i++) m.set({}, i); return 6; }]) {
    m.delete(key);
    m.getOrInsertComputed(key, f);
    m.get(key);
  }
}
return 'alive';
