// Out of memory while the result becomes text.
// Refused with an error, or ended by a limit.
let o = 'x'.repeat(1000);
for (let i = 0; i < 30; i++) o = [o, o];
return o;
