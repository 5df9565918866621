// A proxy that is a proxy at every key.
// Refused with an error, or ended by a limit.
const p = new Proxy({}, { get: (t, k) => typeof k === 'symbol' || k === 'then' || k === 'toJSON' ? undefined : p, ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }) });
return p;
