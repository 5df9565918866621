// Six megabytes of result, as text and as items. Value.
const s = 'z'.repeat(3e6);
const r = await codemode.echo({ s, a: new Array(200000).fill(1) });
return [r.s.length, r.a.length];
