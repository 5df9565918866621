// A chain of callable proxies, constructed and asked for their realm.
// An error the guest sees, no crash.
let p = function () {};
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
Reflect.construct(Array, [], p);
return 1;
