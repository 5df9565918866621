// A chain of a hundred thousand proxies and `Object.getPrototypeOf`.
// A value or an error, no crash.
let p = [{ x: 1 }];
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
Object.getPrototypeOf(p);
return 1;
