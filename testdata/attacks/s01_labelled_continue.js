// Two nested loops that jump to the outer label for ever. Ends at the time limit.
outer: do {
  for (;;) continue outer;
} while (true);
