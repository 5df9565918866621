// Errors that cause each other in a ring. Error, ends.
const a = new Error('a'), b = new Error('b', { cause: a });
a.cause = b;
throw a;
