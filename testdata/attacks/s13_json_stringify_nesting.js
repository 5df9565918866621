// Two hundred thousand nested arrays made into JSON text.
// Ends at the time limit, or by another limit before.
let o = [];
for (let i = 0; i < 2e5; i++) o = [o];
return JSON.stringify(o).length;
