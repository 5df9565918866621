// toJSON of the whole argument is asked once; what it gives travels. Value.
let n = 0;
const r = await codemode.echo({ toJSON() { n++; return { ok: true }; } });
return [r.ok, n];
