// An indent of ten at a depth of a thousand, many times.
// Ends at the time limit, or by another limit before.
let o = [];
for (let i = 0; i < 1000; i++) o = [o];
return JSON.stringify(Array(10000).fill(o), null, 10).length;
