// try blocks nested without measure inside eval.
// An error the guest sees, no crash.
eval("try{".repeat(3e4) + "}catch(e){}".repeat(3e4));
null.x;
