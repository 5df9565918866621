// Symbol keys and non-enumerable keys do not travel. Value.
const r = await codemode.echo(Object.defineProperty({ a: 1, [Symbol('b')]: 2 }, 'c', { value: 3 }));
return Object.keys(r);
