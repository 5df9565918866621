// Proxies around proxies. Memory.
let p = {};
for (;;) p = new Proxy(p, {});
