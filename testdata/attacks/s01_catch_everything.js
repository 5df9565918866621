// Every exception is caught and the loop starts again: the stop must not be catchable.
for (;;) {
  try { for (;;); } catch (e) { continue; } finally { }
}
