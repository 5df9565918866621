// A runaway of plain arithmetic, the tightest loop there is. Ends; others keep running.
let x = 0.5;
for (;;) x = x * 3.9999 * (1 - x);
