// A finalizer that calls a tool after the program ended must call nothing. Value.
if (typeof FinalizationRegistry !== 'function') return 'over';
const r = new FinalizationRegistry(() => { codemode.secret(); });
globalThis.keep = r;
(() => { r.register({}, 1); })();
return 'over';
