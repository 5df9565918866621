// Iterators and collections are not lost: they arrive as what they hold, or are refused. Value.
const values = { m: new Map([['a', 1]]), s: new Set([1]), g: (function* () { yield 1; })(), t: new Uint8Array([1]), r: /x/, w: new WeakMap() };
let lost = 0;
for (const k of Object.keys(values)) { try { const r = await codemode.echo({ v: values[k] }); if (JSON.stringify(r.v) === '{}') lost++; } catch (e) { } }
return lost;
