// Iterator helpers that call their own next and return while they run.
// The engine must stay sound: value.
const steps = [it => it.next(), it => it.return && it.return(), it => { try { [...it]; } catch (e) { } }];
for (const step of steps) for (const wrap of [i => i.map(x => { step(h); return x; }), i => i.filter(() => { step(h); return true; }), i => i.flatMap(x => { step(h); return [x, x]; }), i => i.take(3), i => i.drop(1), i => i.chunks ? i.chunks(2) : i.take(1), i => i.windows ? i.windows(2) : i.take(1), i => Iterator.concat ? Iterator.concat(i, [1]) : i.take(2), i => Iterator.zip ? Iterator.zip([i, [1, 2]]) : i.take(2)]) {
  let n = 0, h = null;
  const src = { __proto__: Iterator.prototype, next() { if (h && n < 10) { try { step(h); } catch (e) { } } return { done: n++ > 20, value: [n] }; }, return() { try { step(h); } catch (e) { } return {}; }, [Symbol.iterator]() { return this; } };
  try { h = wrap(src); } catch (e) { continue; }
  for (let i = 0; i < 10; i++) { try { h.next(); } catch (e) { } }
  try { h.return(); } catch (e) { }
}
return 'alive';
