// constructor, prototype, toString and valueOf as keys are data. Value.
const a = { constructor: { prototype: { polluted: 1 } }, prototype: 1, toString: 2, valueOf: 3, hasOwnProperty: 4, then: 5, toJSON: 6, length: 7 };
const r = await codemode.echo(a);
return [Object.keys(r).length, {}.polluted === undefined];
