// A finalizer that loops is registered and the program ends: it must not run after the end. Value.
if (typeof FinalizationRegistry !== 'function') return 'over';
const r = new FinalizationRegistry(() => { for (;;); });
globalThis.keep = r;
for (let i = 0; i < 1000; i++) r.register({}, i);
return 'over';
