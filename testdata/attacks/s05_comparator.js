// A comparator that never returns. Ends at the time limit.
return [3, 1, 2].sort(() => { for (;;); });
