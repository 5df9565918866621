// Names that only explain what to use instead (fetch, require, Intl) must not be the real thing. Value.
const worked = [];
for (const [n, f] of Object.entries({ fetch: () => fetch('http://127.0.0.1/'), require: () => require('fs'), process: () => process.env.PATH, Intl: () => new Intl.DateTimeFormat().format() })) {
  try { const v = await f(); if (v !== undefined) worked.push(n); } catch (e) { }
}
return worked;
