// JSON.stringify of a shared graph: small in memory, 2^40 nodes as text. Ends by time or memory.
let o = 1;
for (let i = 0; i < 40; i++) o = [o, o];
return JSON.stringify(o).length;
