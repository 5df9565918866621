// An AggregateError that contains itself. Error, ends.
const a = new AggregateError([], 'a');
a.errors = [a, a];
throw a;
