// A setter that writes itself.
// An error the guest sees, no crash.
const o = { set x(v) { this.x = v; } };
o.x = 1;
return 1;
