// Finalizers that loop while garbage is made. Ends at the time limit.
if (typeof FinalizationRegistry !== 'function') for (;;);
const r = new FinalizationRegistry(() => { for (;;); });
for (;;) { r.register({}, 1); await null; }
