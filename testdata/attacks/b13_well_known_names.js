// Names that engines ask for on their own are undefined on codemode and on tools. Value.
return ['then', 'toJSON', Symbol.toPrimitive, Symbol.iterator, Symbol.asyncIterator, Symbol.toStringTag].filter(k => k !== Symbol.toStringTag && typeof codemode[k] === 'function').map(String);
