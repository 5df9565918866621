// Describing what is thrown runs none of the program's code, so that it cannot make a call then. Error.
const act = () => { codemode.secret({}); for (;;); };
throw new (class extends Error {
  get name() { return act(); } get message() { return act(); } get stack() { return act(); } get toolName() { return act(); }
  toString() { return act(); } get [Symbol.toStringTag]() { return act(); }
})('x', { cause: new Proxy({}, { get: act, ownKeys: act, getPrototypeOf: act }) });
