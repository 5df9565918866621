// isPrototypeOf walks a prototype chain without an end. Ends at the time limit.
const a = new Proxy({}, { getPrototypeOf: () => a });
return Object.prototype.isPrototypeOf.call({}, a);
