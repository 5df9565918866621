// A property looked up through a ring of proxies as prototypes.
// An error the guest sees, no crash.
const p = new Proxy({}, {});
Object.setPrototypeOf(p, Object.create(p));
return p.x;
