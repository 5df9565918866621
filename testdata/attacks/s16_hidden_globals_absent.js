// Names that only explain what to use instead (fetch, require, process) must not be the real thing. Value.
const worked = [];
for (const [n, f] of Object.entries({ fetch: () => fetch('http://127.0.0.1/'), require: () => require('fs'), process: () => process.env.PATH })) {
  try { const v = await f(); if (v !== undefined) worked.push(n); } catch (e) { }
}
return worked;
