// Array literals nested without measure inside eval.
// An error the guest sees, no crash.
eval("[".repeat(1e5) + "]".repeat(1e5));
null.x;
