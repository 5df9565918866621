// JSON.stringify while toJSON, getters and the replacer delete, add and shrink what is being walked.
// The engine must stay sound: value.
const shrink = o => { for (const k of Object.keys(o)) delete o[k]; for (let i = 0; i < 50; i++) o['n' + i] = { i }; };
const o = {};
for (let i = 0; i < 50; i++) o['k' + i] = i % 5 ? { i } : { toJSON() { shrink(o); return i; } };
JSON.stringify(o);
const a = Array.from({ length: 100 }, (_, i) => ({ toJSON() { a.length = 10; return i; } }));
JSON.stringify(a);
const list = Array.from({ length: 100 }, (_, i) => ({ toString() { list.length = 3; return 'k' + i; } }));
try { JSON.stringify(o, list); } catch (e) { }
JSON.stringify(o, function (k, v) { shrink(this); return v; });
JSON.stringify({ a: 1 }, null, { toString() { return 'x'; } });
return 'alive';
