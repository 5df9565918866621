// Console messages beyond the limit are dropped, not hoarded; the strings are. Memory.
const a = [];
for (let i = 0; ; i++) { const s = 'x'.repeat(10000) + i; console.log(s); a.push(s + s); }
