// Conditional expressions nested without measure inside eval.
// An error the guest sees, no crash.
eval("1?".repeat(1e5) + "1" + ":1".repeat(1e5));
null.x;
