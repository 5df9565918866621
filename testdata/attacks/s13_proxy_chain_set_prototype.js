// A chain of a hundred thousand proxies and `Object.setPrototypeOf`.
// An error the guest sees, no crash.
let p = [{ x: 1 }];
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
Object.setPrototypeOf(p, null);
return 1;
