// Every array method on an array with a getter that shrinks, grows or empties it half-way.
// The engine must stay sound: value.
const methods = ['concat', 'copyWithin', 'entries', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'flat', 'flatMap', 'forEach', 'includes', 'indexOf', 'join', 'lastIndexOf', 'map', 'pop', 'push', 'reduce', 'reduceRight', 'reverse', 'shift', 'slice', 'some', 'sort', 'splice', 'toLocaleString', 'toReversed', 'toSorted', 'toSpliced', 'toString', 'unshift', 'with'];
for (const m of methods) for (const how of [a => { a.length = 1; }, a => { a.length = 0; a.length = 50; }, a => { for (let i = 0; i < 500; i++) a.push({}); }, a => { Object.setPrototypeOf(a, null); }, a => { delete a[40]; a[1000000] = 1; }]) {
  const a = Array.from({ length: 50 }, (_, i) => ({ i, toString() { return 'o' + i; } }));
  Object.defineProperty(a, 20, { get() { how(a); return 20; }, set() { how(a); }, configurable: true });
  const args = { with: [1, 2], toSpliced: [3, 4, 5], splice: [3, 30, 5], copyWithin: [5, 1, 40], slice: [5, 45], fill: [1, 2, 40], indexOf: ['none'], lastIndexOf: ['none'], includes: ['none'], push: [1], unshift: [1, 2], concat: [[1]], join: ['-'], sort: [], toSorted: [], reduce: [x => x], reduceRight: [x => x], flat: [] }[m] || [x => x];
  try { Array.prototype[m].apply(a, args); } catch (e) { }
}
return 'alive';
