// A thenable result whose then never returns. Under the same limits.
return { then() { for (;;); } };
