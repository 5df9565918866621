// A finalizer that registers a fresh object each time. Ends at the time limit.
if (typeof FinalizationRegistry !== 'function') for (;;);
const r = new FinalizationRegistry(() => { r.register({}, 1); });
r.register({}, 1);
for (;;) await null;
