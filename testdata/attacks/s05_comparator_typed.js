// A typed array comparator that never returns. Ends at the time limit.
return new Int8Array([3, 1, 2]).sort(() => { for (;;); });
