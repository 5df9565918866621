// A getter that always gives a deeper object.
// Refused with an error, or ended by a limit.
const deep = () => ({ get x() { return deep(); } });
return deep();
