// A string that doubles.
// Refused with an error, or ended by a limit.
let s = 'x';
for (;;) s += s;
