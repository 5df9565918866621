// Out of memory is caught, everything is given up, and it starts again for ever.
// Ends at the time limit, or by another limit before.
for (;;) {
  let a = [];
  try { for (;;) a.push(new Array(1000)); } catch (e) { a = null; }
}
