// A line comment at the very end must not swallow what follows it. Value.
return 1 // the end
