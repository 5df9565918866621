// Control letters that take six characters as JSON. Memory.
return JSON.stringify('\u0001'.repeat(2e7)).length;
