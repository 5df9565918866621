// A name that is harmless only the second time is denied. Value.
let n = 0;
const name = { toString() { return n++ === 0 ? 'secret' : 'echo'; } };
try { await codemode[name]('x'); return 'called'; } catch (e) { return ['refused', n]; }
