// The result has a getter that never returns. Under the same limits.
return { get x() { for (;;); } };
