// instanceof walks a ring of proxies that name each other as prototype. Ends at the time limit.
const a = new Proxy({}, { getPrototypeOf: () => b });
const b = new Proxy({}, { getPrototypeOf: () => a });
return a instanceof Array;
