// for statements nested without measure inside eval.
// An error the guest sees, no crash.
eval("for(;0;)".repeat(1e5) + ";");
null.x;
