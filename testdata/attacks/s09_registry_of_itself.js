// A registry registered with itself, with its callback and with a proxy of itself. Value.
if (typeof FinalizationRegistry !== 'function') return 'over';
let r = new FinalizationRegistry(() => {});
r.register(r, 1, r === 0 ? r : {});
r.register(new Proxy(r, {}), 2);
r.register(() => r, 3);
r = null;
await null;
return 'over';
