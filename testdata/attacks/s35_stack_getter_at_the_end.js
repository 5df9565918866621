// The last error has a stack that answers with an object, then with a number, then never. Error, or it is stopped.
let n = 0;
throw Object.defineProperty(new Error('last'), 'stack', { get() { if (n++ > 2) for (;;); return n === 1 ? { toString() { throw 1; } } : 7; } });
