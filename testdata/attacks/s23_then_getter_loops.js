// The then getter of the result never returns. Under the same limits.
return { get then() { for (;;); } };
