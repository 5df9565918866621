// new operators nested without measure inside eval.
// An error the guest sees, no crash.
eval("new ".repeat(1e5) + "Object");
null.x;
