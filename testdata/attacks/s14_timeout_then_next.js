// A guest that is stopped in the middle of a native loop. Nobody may get it again.
globalThis.stopped = true;
return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
