// A name whose toString changes: the first answer is the name. Value.
let n = 0;
const name = { toString() { return n++ === 0 ? 'echo' : 'secret'; } };
try { return [await codemode[name]('x'), n]; } catch (e) { return e.name; }
