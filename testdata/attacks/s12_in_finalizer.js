// Out of memory in a finalizer.
// Ends at the time limit, or by another limit before.
const r = typeof FinalizationRegistry === 'function' ? new FinalizationRegistry(() => { const a = []; for (;;) a.push({}); }) : { register() {} };
for (;;) { r.register({}, 1); await null; }
