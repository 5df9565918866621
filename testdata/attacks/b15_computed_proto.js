// Objects with a prototype of the program: what they inherit does not travel, what they own does. Value.
const a = { __proto__: { inherited: 1, toString: 2 }, own: 3 };
const b = Object.defineProperty({}, '__proto__', { value: 4, enumerable: true });
const r = await codemode.echo([a, b]);
return [Object.keys(r[0]).join(), Object.getOwnPropertyNames(r[1]).join(), r[0].inherited === undefined];
