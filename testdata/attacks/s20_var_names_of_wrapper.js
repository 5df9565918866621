// Names that a wrapper might use are free for the program. Value.
var f = 1, fn = 2, main = 3, program = 4, source = 5, result = 6, body = 7, run = 8, wrapper = 9, $ = 10, _ = 11, __f = 12;
let resolve = 1, reject = 2, module = 3, exports = 4, arguments_ = 5;
return f + fn + main + program + source + result + body + run + wrapper + $ + _ + __f;
