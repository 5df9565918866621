// Two thousand proxies around each other, each of which asks the next twice. Ends at the time limit.
let p = { x: 1 };
for (let i = 0; i < 200; i++) { const q = p; p = new Proxy({}, { get: (t, k) => q[k] + q[k] }); }
return p.x;
