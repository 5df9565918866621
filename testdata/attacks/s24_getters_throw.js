// An error whose name, message, stack and cause throw. Error, ends.
const bad = { get() { throw new Error('getter'); }, configurable: true };
throw Object.defineProperties(new Error('x'), { name: bad, message: bad, stack: bad, cause: bad, toString: bad, constructor: bad });
