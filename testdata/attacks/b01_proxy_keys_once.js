// A proxy that lists other keys each time: one list counts. Value.
let n = 0;
const r = await codemode.echo(new Proxy({}, { ownKeys: () => [['a'], ['b']][n++] || ['c'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: (t, k) => k === 'toJSON' ? undefined : 1 }));
return [Object.keys(r).join(), n];
