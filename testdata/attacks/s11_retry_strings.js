// A string that doubles until it fails, caught, and doubled again.
// Ends at the time limit, or by another limit before.
let s = 'x';
for (;;) { try { for (;;) s += s; } catch (e) { } }
