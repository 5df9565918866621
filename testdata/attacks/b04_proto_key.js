// A __proto__ key in the arguments is data and sets nothing. Value.
const a = JSON.parse('{"__proto__":{"polluted":1},"x":2}');
const r = await codemode.echo(a);
return [Object.keys(r).sort().join(), {}.polluted === undefined, r.polluted === undefined, Object.getPrototypeOf(r) === Object.prototype];
