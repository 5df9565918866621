// Destructuring patterns nested without measure inside eval.
// An error the guest sees, no crash.
eval("var " + "[".repeat(1e5) + "a" + "]".repeat(1e5) + "=1");
null.x;
