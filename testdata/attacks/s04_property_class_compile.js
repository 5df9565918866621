// The largest Unicode properties, inverted and case-folded, compiled again and again. Ends by time.
let n = 0;
for (;;) n += new RegExp('[^\\p{Script_Extensions=Common}\\P{ID_Continue}\\p{Cased}]', 'iv').source.length;
