// Code from text that is compiled for ever. Ends at the time limit, or code from text is refused.
for (let i = 0; ; i++) eval('var x' + (i % 100) + ' = function () { return ' + i + '; }');
