// WeakRef.deref hands a live object or undefined, never a freed one. Value.
if (typeof WeakRef !== 'function') return 'over';
const refs = [];
for (let i = 0; i < 20000; i++) refs.push(new WeakRef({ i, cycle: [refs] }));
await codemode.echo(0);
for (const [i, r] of refs.entries()) { const o = r.deref(); if (o !== undefined && o.i !== i) return 'wrong object'; }
return 'over';
