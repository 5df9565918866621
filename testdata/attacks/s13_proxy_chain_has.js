// A chain of a hundred thousand proxies and `'x' in p`.
// An error the guest sees, no crash.
let p = [{ x: 1 }];
for (let i = 0; i < 100000; i++) p = new Proxy(p, {});
'x' in p;
return 1;
