// Odd values as console arguments never end the program. Value.
const o = {};
o.o = o;
for (const x of [undefined, null, NaN, 1n, Symbol('s'), () => 1, o, new Proxy({}, { get() { throw 1; } }), Object.create(null), new Error('e'), new Map([[o, o]]), '\ud800', { toString() { throw 2; }, toJSON() { throw 3; } }]) console.log(x);
console.log();
console.log('%s %d %j %o %c %%', 1);
return 'alive';
