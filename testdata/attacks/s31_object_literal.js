// An object literal of twenty thousand keys.
// Refused or done within the limits.
const s = [];
for (let i = 0; i < 2e4; i++) s.push('k' + i + ':' + i);
return Object.keys(eval('({' + s.join() + '})')).length;
