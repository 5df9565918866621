// The result has a toJSON that never returns. Under the same limits.
return { toJSON() { for (;;); } };
