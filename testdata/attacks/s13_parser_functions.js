// Functions inside functions nested without measure inside eval.
// An error the guest sees, no crash.
eval("(function(){return ".repeat(3e4) + "1" + "})".repeat(3e4));
null.x;
