// A result with __proto__ is data. Value.
const r = await codemode.echo(JSON.parse('{"__proto__":{"polluted":true}}'));
return [r.polluted === undefined, {}.polluted === undefined, Object.getPrototypeOf(r) === Object.prototype];
