// The console of the run before: nothing of what the run before planted is here. Value.
console.log('fresh');
return typeof console.log;
