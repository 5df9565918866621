// with statements nested without measure inside eval.
// An error the guest sees, no crash.
eval("with({})".repeat(1e5) + ";");
null.x;
