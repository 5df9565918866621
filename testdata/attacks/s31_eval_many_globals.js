// Global variables declared by eval for ever.
// Ends at the time limit, or by another limit before.
for (let i = 0; ; i++) (0, eval)('var g' + i + ' = [' + i + ']');
