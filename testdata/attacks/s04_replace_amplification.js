// $` and $' insert all that surrounds each match: 30,000 squared. Memory.
return 'a'.repeat(30000).replace(/a/g, "$`$'").length;
