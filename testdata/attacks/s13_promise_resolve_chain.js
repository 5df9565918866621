// A hundred thousand promises that each resolve with the next.
// An error the guest sees, no crash.
let p = new Promise(() => {});
let r;
p = new Promise(x => { r = x; });
for (let i = 0; i < 100000; i++) p = Promise.resolve(p).then(x => x);
r(1);
if (await p === 1) null.x;
