// for-in over a proxy whose prototype chain is endless. Ends at the time limit.
const p = new Proxy({}, { getPrototypeOf: () => new Proxy({}, { getPrototypeOf: () => p, ownKeys: () => [] }), ownKeys: () => [] });
for (const k in p);
return 1;
