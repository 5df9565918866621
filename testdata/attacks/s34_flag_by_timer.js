// A loop of awaits is to end when a timer sets a flag. Ends at the time limit, or the timer gets in.
let go = true;
setTimeout(() => { go = false; }, 5);
while (go) await null;
return 'stopped';
