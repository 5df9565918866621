// Out of memory is caught, nothing is given up, and it tries again for ever.
// Ends at the time limit, or by another limit before.
const a = [];
for (;;) { try { for (;;) a.push(new Array(1000)); } catch (e) { } }
