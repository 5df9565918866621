// A Set that gets its visited member back while it is walked never ends. Ends at the time limit.
const s = new Set([1]);
for (const x of s) { s.delete(x); s.add(x); }
return s.size;
