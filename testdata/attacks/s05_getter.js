// A getter that never returns. Ends at the time limit.
return { get x() { for (;;); } }.x;
