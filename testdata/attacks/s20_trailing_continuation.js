// A value without a semicolon followed by nothing: no accident with the wrapper's own text. Value.
const f = () => 4
return f()
