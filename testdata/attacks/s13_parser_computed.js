// Computed keys nested without measure inside eval.
// An error the guest sees, no crash.
eval("({[".repeat(3e4) + "1" + "]:1})".repeat(3e4));
null.x;
