// Names with escapes are the same names. Value.
return await \u0063odemode.\u{65}cho(6);
