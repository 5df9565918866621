// Powers nested without measure inside eval.
// An error the guest sees, no crash.
eval("1" + "**1".repeat(1e5));
null.x;
