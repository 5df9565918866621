// Out of memory passes through a finally block that starts again.
// Ends at the time limit, or by another limit before.
const a = [];
for (;;) { try { for (;;) a.push({}); } finally { continue; } }
