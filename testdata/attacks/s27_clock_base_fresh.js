// performance.now counts from the start of this run. Value.
const t = performance.now();
return t >= 0 && t < 3000;
