// Changed by a job that was queued before the call. Value.
const a = { v: 'first' };
queueMicrotask(() => { a.v = 'second'; });
return (await codemode.echo(a)).v;
