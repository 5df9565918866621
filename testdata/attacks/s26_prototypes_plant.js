// Polluted prototypes: planted here. The next run must not see it.
for (const p of [Object, Array, String, Number, Boolean, Function, Promise, Map, Set, RegExp, Date, Error, Symbol, BigInt, Uint8Array]) { p.prototype.planted = 'x'; p.planted = 'y'; }
return Array.prototype.planted;
