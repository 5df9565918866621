// split makes its own expression by species; that one never matches nor ends. Ends at the time limit.
class R extends RegExp { static get [Symbol.species]() { return function () { return { set lastIndex(v) {}, get lastIndex() { return 0; }, exec() { for (;;); } }; }; } }
return 'abc'.split(new R('b')).length;
