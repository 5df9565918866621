// A timer of an hour is waited for. Ends at the time limit.
await new Promise(r => setTimeout(r, 3600000));
return 1;
