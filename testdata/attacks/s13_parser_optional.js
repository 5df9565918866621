// Optional chains nested without measure inside eval.
// An error the guest sees, no crash.
eval("({})" + "?.a".repeat(3e5));
null.x;
