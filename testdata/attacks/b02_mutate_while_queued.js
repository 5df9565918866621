// The same for a call that waits in the queue behind sixteen others. Value.
const slow = Array.from({ length: 20 }, () => codemode.slow({ ms: 20 }));
const a = { v: 'first' };
const p = codemode.echo(a);
a.v = 'second';
await Promise.all(slow);
return (await p).v;
