// Polluted prototypes: nothing of what the run before planted is here. Value.
return [{}, [], '', 0, false, () => 1, new Map(), /x/, new Date(), new Error('x'), 1n, Promise.resolve(), Object, Array].filter(o => 'planted' in Object(o)).length;
