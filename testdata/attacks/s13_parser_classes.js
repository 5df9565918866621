// Classes that extend classes nested without measure inside eval.
// An error the guest sees, no crash.
eval("(class extends ".repeat(3e4) + "Object" + "{})".repeat(3e4));
null.x;
