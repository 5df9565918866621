// The mapped arguments object, deleted, redefined and outliving its frame.
// The engine must stay sound: value.
function f(a, b, c) { const x = arguments; delete x[0]; Object.defineProperty(x, 1, { get() { c = 9; return a; } }); x.length = 100; a = 5; return [x, () => a, y => { b = y; }]; }
const kept = [];
for (let i = 0; i < 2000; i++) { const [x, get, set] = f(i, {}, []); set(x); kept.push(x, get); x[2] = get; }
for (const k of kept) { if (typeof k === 'function') k(); else { Array.prototype.splice.call(k, 0, 2); Object.freeze(k); k[2]; } }
(function (a) { arguments[0] = arguments; a[0] = a; JSON.stringify(Object.keys(arguments)); })({});
return 'alive';
