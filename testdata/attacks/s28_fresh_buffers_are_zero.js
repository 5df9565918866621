// Every fresh buffer is zero, of every size: nothing of another run shows through. Value.
let odd = 0;
for (const n of [1, 7, 64, 1000, 4096, 65536, 1 << 20, 1 << 24]) for (let i = 0; i < 3; i++) { const a = new Uint8Array(n); for (let j = 0; j < n; j += n > 65536 ? 97 : 1) odd += a[j]; }
return odd;
