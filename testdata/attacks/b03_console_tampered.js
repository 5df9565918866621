// The console with every prototype tampered with neither throws nor calls what the program planted. Value.
let called = 0;
const spy = () => { called++; return 'spy'; };
for (const K of [Object, Array, Map, Set, Error, String, Number, Date, RegExp, Function, Symbol, Promise]) { for (const k of ['toString', 'valueOf', 'toJSON', 'inspect', 'map', 'join', 'forEach', 'entries', 'keys', 'slice', 'then', 'get']) { try { K.prototype[k] = spy; } catch (e) { } } }
called = 0;
console.log({ a: [1, { b: new Map([[1, 2]]) }] }, new Error('x'), /x/, [1, 2], 'text', 5);
return called;
