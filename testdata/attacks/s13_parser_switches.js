// switch statements nested without measure inside eval.
// An error the guest sees, no crash.
eval("switch(1){case 1:".repeat(3e4) + "}".repeat(3e4));
null.x;
