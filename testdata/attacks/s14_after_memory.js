// The run after out-of-memory has all of its memory again: forty megabytes can be had. Value.
const a = [];
for (let i = 0; i < 40; i++) a.push(new Uint8Array(1 << 20));
return a.every(x => x[0] === 0 && x[x.length - 1] === 0);
