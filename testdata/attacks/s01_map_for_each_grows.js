// Map.prototype.forEach visits what the callback adds, for ever. Ends at the time limit.
const m = new Map([[0, 0]]);
let n = 0;
m.forEach((v, k) => { m.delete(k); m.set(++n, 0); });
return n;
