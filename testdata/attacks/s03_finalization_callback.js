// A finalizer that loops, with garbage made all the time. The outer stop ends it.
if (typeof FinalizationRegistry !== 'function') for (;;);
const r = new FinalizationRegistry(() => { for (;;); });
for (;;) { for (let i = 0; i < 1000; i++) r.register({}, i); await null; }
