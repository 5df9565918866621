// Four megabytes are allowed and come back whole. Value.
const s = 'y'.repeat(4 << 20);
const r = await codemode.echo(s);
return r.length === s.length && r === s;
