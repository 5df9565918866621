// NaN and the infinities are null, minus zero is zero. Value.
return [NaN, Infinity, -Infinity, -0];
