// A pattern in forty megabytes of memory: nothing of what the run before planted is here. Value.
let found = 0;
for (let i = 0; i < 40; i++) { const a = new Uint32Array(1 << 18); for (let j = 0; j < a.length; j += 64) if (a[j] === 0x5a5a5a5a) found++; }
return found;
