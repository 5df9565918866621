// From a trap of a proxy. Denied.
return await new Proxy({}, { get: (t, k) => codemode[k] }).secret({});
