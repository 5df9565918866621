// Iterator.zip whose inputs vanish, throw and close one another while they are opened.
// The engine must stay sound: value.
if (Iterator.zip) for (let bad = 0; bad < 4; bad++) for (const mode of ['shortest', 'longest', 'strict', undefined]) {
  const its = Array.from({ length: 4 }, (_, i) => ({ get next() { if (i === bad) { its.length = 0; throw new Error('next'); } let n = 0; return () => ({ done: n++ > i, value: n }); }, return() { its.length = 0; its.push(1, 2, 3); if (i % 2) throw new Error('return'); return {}; } }));
  try { [...Iterator.zip(its, { mode, padding: { [Symbol.iterator]: () => ({ next() { its.length = 0; return { done: false, value: 1 }; }, return() { throw new Error('padding'); } }) } })]; } catch (e) { }
  try { [...Iterator.zipKeyed({ a: its[0], get b() { its.length = 0; return [1]; }, c: [1, 2, 3] }, { mode })]; } catch (e) { }
}
return 'alive';
