// A getter of the result is read once. Value.
let n = 0;
return { get a() { return ++n; }, get b() { return ++n; } };
