// Default parameters nested without measure inside eval.
// An error the guest sees, no crash.
eval("((a=".repeat(3e4) + "1" + ")=>a)".repeat(3e4));
null.x;
