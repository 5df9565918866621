// A chain of a hundred thousand proxies and `Array.isArray`.
// A value or an error, no crash.
let p = [{ x: 1 }];
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
Array.isArray(p);
return 1;
