// Unary operators nested without measure inside eval.
// An error the guest sees, no crash.
eval("!".repeat(3e5) + "1");
null.x;
