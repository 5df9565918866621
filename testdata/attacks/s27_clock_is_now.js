// The wall clock is of this run, not of the day the template was made. Value.
const y = new Date().getFullYear();
return y >= 2024 && y < 2100 && Date.now() > 17e11;
