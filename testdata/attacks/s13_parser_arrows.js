// Arrow functions nested without measure inside eval.
// An error the guest sees, no crash.
eval("a=>".repeat(1e5) + "1");
null.x;
