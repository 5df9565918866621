// A registry that is unregistered from while it cleans up. Value.
if (typeof FinalizationRegistry !== 'function') return 'over';
const token = {};
let left = 2000;
const r = new FinalizationRegistry(() => { r.unregister(token); if (left-- > 0) r.register({}, left, token); });
for (let i = 0; i < 2000; i++) { r.register({}, i, token); if (i % 500 === 0) await null; }
r.unregister(token);
return 'over';
