// Symbol.hasInstance that asks itself.
// An error the guest sees, no crash.
const o = { [Symbol.hasInstance](v) { return v instanceof o; } };
return {} instanceof o;
