// Labels nested without measure inside eval.
// An error the guest sees, no crash.
eval(Array.from({length: 1e5}, (_, i) => "l" + i + ":").join("") + ";");
null.x;
