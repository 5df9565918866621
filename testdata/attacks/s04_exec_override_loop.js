// exec is the program's own and never says no: replace never ends.
// Memory, or another limit.
const r = /a/g;
r.exec = () => ({ index: 0, 0: '', length: 1 });
return 'a'.replace(r, '');
