// Symbols are no tool names. Value.
let n = 0;
for (const s of [Symbol('echo'), Symbol.for('echo'), Symbol.iterator, Symbol.asyncIterator, Symbol.toPrimitive, Symbol.toStringTag, Symbol.species, Symbol.dispose, Symbol.asyncDispose].filter(Boolean)) { try { const f = codemode[s]; if (typeof f === 'function') { await f.call(codemode, {}); n++; } } catch (e) { } }
return n;
