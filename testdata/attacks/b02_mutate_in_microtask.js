// Changed by a job that was queued before the call. Value.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
const a = { v: 'first' };
later(() => { a.v = 'second'; });
return (await codemode.echo(a)).v;
