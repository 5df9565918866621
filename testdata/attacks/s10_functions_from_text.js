// Functions made from text.
// Ends at the time limit, or by another limit before.
const a = [];
for (let i = 0; ; i++) a.push(Function('return ' + i));
