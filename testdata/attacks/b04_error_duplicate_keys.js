// An Error with its own enumerable name: the key is there once and read once. Value.
let n = 0;
const e = Object.defineProperty(new Error('m'), 'name', { get() { return n++ === 0 ? 'first' : 'second'; }, enumerable: true });
let r;
try { r = await codemode.echo({ e }); } catch (x) { return [n <= 1, true]; }
return [n <= 1, r.e.name === undefined || r.e.name === 'first'];
