// else branches nested without measure inside eval.
// An error the guest sees, no crash.
eval("if(0);else ".repeat(1e5) + ";");
null.x;
