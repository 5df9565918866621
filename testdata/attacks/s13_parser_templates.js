// Templates nested without measure inside eval.
// An error the guest sees, no crash.
eval("`${".repeat(1e5) + "1" + "}`".repeat(1e5));
null.x;
