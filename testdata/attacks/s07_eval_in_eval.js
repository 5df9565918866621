// eval inside eval, a thousand levels, then a loop. Ends at the time limit, or code from text is refused.
let s = 'for (;;);';
for (let i = 0; i < 8; i++) s = 'eval(' + JSON.stringify(s) + ')';
eval(s);
