// Destructuring, spread and rest from iterators that change what is being assigned.
// The engine must stay sound: value.
const a = [1, 2, 3, 4, 5];
for (const how of [() => { a.length = 0; }, () => { a.push({}, {}); }, () => { a.unshift([]); }]) {
  const it = { [Symbol.iterator]() { let n = 0; return { next() { how(); return { done: n++ > 4, value: a }; }, return() { how(); return {}; } }; } };
  [a[0], a[1], ...a[2]] = it;
}
return 'alive';
