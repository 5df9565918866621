// An own key __proto__ inside the arguments arrives as a key, or is refused: it is not lost, and sets nothing. Value.
const r = await codemode.echo({ a: JSON.parse('{"__proto__":"own"}') });
return [Object.getOwnPropertyNames(r.a).join(), Object.getPrototypeOf(r.a) === Object.prototype];
