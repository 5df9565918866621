// A finally block that overrides every completion with continue. Ends at the time limit.
for (;;) {
  try { for (;;); } finally { continue; }
}
