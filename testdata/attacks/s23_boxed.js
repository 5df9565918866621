// Boxed primitives and dates become what JSON makes of them. Value.
return [new Number(1), new String("s"), new Boolean(false), new Date(0)];
