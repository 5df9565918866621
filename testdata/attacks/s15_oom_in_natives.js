// Natives are called again and again while only a few kilobytes are left: each failure path is walked.
// The engine must stay sound: memory, or a value if the program got through.
const ops = [() => [3, 1, 2].sort(), () => 'a-b-c'.split('-'), () => new Map([[{}, 1], [2, {}]]), () => JSON.stringify({ a: [1, { b: 'x'.repeat(300) }] }), () => JSON.parse('{"a":[1,2,{"b":"c"}]}'), () => /(?<n>a+)(b)?/d.exec('aab'), () => 'abcabc'.replace(/b/g, x => x + x), () => new Error('x').stack, () => [1, [2, [3]]].flat(9), () => Object.entries({ a: 1, b: 2 }), () => new Proxy({}, { get: () => [] }).x, () => Array.from({ length: 50 }, (_, i) => 'k' + i), () => (2n ** 300n).toString(), () => new BigInt64Array([3n, 2n ** 62n, 1n]).sort((a, b) => a < b ? -1 : 1), () => structuredClone({ a: [new Date()] }), () => [...'\ud83d\ude00abc'], () => Object.defineProperty({}, 'x' + Math.random(), { get() { } }), () => class { #a = 1; static b = new this().#a; }, () => (function* () { yield* [1, 2]; })().next(), () => Promise.all([1, 2]), () => new WeakRef({}), () => Symbol.for('s' + Math.random()), () => Object.groupBy([1, 2, 3], x => 'g' + x), () => 'x'.repeat(2000) + 'y'.repeat(2000), () => eval('(a => a)(1)'), () => new RegExp('a{2,5}|[b-z]' + Math.random()), () => Function('a', 'return a')(1), () => 'ß\u0149'.toUpperCase().normalize('NFD'), () => new Set([1, 2]).union(new Set([3])), () => [1, 2, 3].values().map(x => [x]).toArray(), () => Reflect.ownKeys(globalThis), () => new Date(NaN) + '', () => (async () => { await 1; })()];
const hoard = [];
let n = 0;
try { for (;;) hoard.push(new Array(4096).fill(0)); } catch (e) { }
for (let round = 0; round < 12; round++) {
  try { for (let s = 2048; s > 4; s >>= 1) { try { for (;;) hoard.push(new Array(s).fill(0)); } catch (e) { } } } catch (e) { }
  for (const op of ops) { try { op(); } catch (e) { n++; } hoard.length -= hoard.length > 40 ? 1 : 0; }
}
hoard.length = 0;
return 'alive';
