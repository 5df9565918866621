// Every form of a date shows whole milliseconds of the same clock. Value.
const a = Date.now(), b = +new Date(), c = Date.parse(new Date().toISOString());
return [b - a, c - a].every(x => Math.abs(x) <= 1000 && Number.isInteger(x));
