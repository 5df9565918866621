// A chain of a hundred thousand callable proxies, called.
// An error the guest sees, no crash.
let p = () => 1;
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
return p();
