// An object that a getter extends while it is written out: keys are listed first. Value.
const o = { get a() { o.z = 1; return 1; }, b: 2 };
return o;
