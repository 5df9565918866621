// A regular expression that is compiled anew while it is being executed.
// The engine must stay sound: value.
const r = /(a+)(b*)/g;
r.lastIndex = { valueOf() { r.compile('(((((c)))))|x{1000}', 'g'); return 0; } };
try { r.exec('aaabbb'); } catch (e) { }
const s = /a(.)/g;
'abacad'.replace(s, () => { s.compile('(.)(.)(.)(.)', 'gi'); return 'x'; });
const t = /b/y;
class T extends RegExp { static get [Symbol.species]() { return class extends RegExp { exec(x) { this.compile('(?<n>.)', 'd'); return super.exec(x); } }; } }
'abcabc'.split(new T('b'));
let n = 0;
for (const x of 'abab'.matchAll(new T('a', 'g'))) if (n++ > 10) break;
return 'alive';
