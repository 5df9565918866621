// Assignments nested without measure inside eval.
// An error the guest sees, no crash.
eval("var a;" + "a=".repeat(1e5) + "1");
null.x;
