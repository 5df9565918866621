// An error whose getters throw the error itself. Error, ends.
const x = new Error('x');
for (const k of ['name', 'message', 'stack', 'cause']) Object.defineProperty(x, k, { get() { throw x; } });
throw x;
