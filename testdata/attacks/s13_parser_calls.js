// Calls of calls nested without measure inside eval.
// An error the guest sees, no crash.
eval("(()=>f)" + "()".repeat(3e5));
null.x;
