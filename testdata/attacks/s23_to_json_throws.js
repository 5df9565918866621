// A toJSON that throws is the program's own error.
return { toJSON() { throw new Error('mine'); } };
