// Finalizers that throw change nothing about the result. Value.
if (typeof FinalizationRegistry !== 'function') return 'over';
const r = new FinalizationRegistry(() => { throw new Error('from a finalizer'); });
globalThis.keep = r;
for (let i = 0; i < 100; i++) r.register({}, i);
await codemode.echo(1);
await null;
return 'over';
