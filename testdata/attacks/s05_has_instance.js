// Symbol.hasInstance that never returns. Ends at the time limit.
return {} instanceof { [Symbol.hasInstance]() { for (;;); } };
