// valueOf that adds itself.
// An error the guest sees, no crash.
const o = { valueOf() { return o + 1; } };
return o + 1;
