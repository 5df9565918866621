// An error whose name, message and stack are objects with hostile toString. Error, ends.
const bad = { toString() { throw null; }, valueOf() { throw null; } };
throw Object.assign(new Error("x"), { name: bad, message: bad, stack: bad });
