// A getter that reads itself.
// An error the guest sees, no crash.
const o = { get x() { return this.x; } };
return o.x;
