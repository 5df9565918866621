// A small graph with 2^50 paths.
// Refused with an error, or ended by a limit.
let o = [];
for (let i = 0; i < 50; i++) o = [o, o];
return o;
