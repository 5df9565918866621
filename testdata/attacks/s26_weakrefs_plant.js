// Finalizers and weak references left behind: planted here. The next run must not see it.
if (typeof FinalizationRegistry === 'function') { globalThis.r = new FinalizationRegistry(() => { globalThis.finalized = 1; }); for (let i = 0; i < 1000; i++) r.register({}, i); }
return 'left';
