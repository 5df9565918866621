// Carriage returns alone end lines. Value.
// commentlet x = 9;// comment
return x;