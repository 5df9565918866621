package match

import "testing"

func TestDecimals(t *testing.T) {
	sorted := []string{"-1e10", "-100.5", "-100", "-1.01", "-1", "-0.1", "-1e-400000", "0", "1e-400000", "0.001", "0.0011",
		"0.1", "1", "1.0000000000000000000000001", "2", "9.99", "10", "10.1", "99", "1e2", "100.01", "1e400000"}
	for i, a := range sorted {
		for j, b := range sorted {
			x, ok := parseDecimal(a)
			y, okToo := parseDecimal(b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := x.compare(y); !ok || !okToo || got != want {
				t.Errorf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
	for _, same := range [][2]string{{"1", "1.0"}, {"1", "1.000e0"}, {"100", "1e2"}, {"0.01", "1E-2"}, {"0", "-0.00e5"},
		{"120", "1.2e+2"}, {"10", "1e01"}, {"0.5", "5e-1"}} {
		x, _ := parseDecimal(same[0])
		y, ok := parseDecimal(same[1])
		if !ok || x.compare(y) != 0 {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	for _, s := range []string{"", "-", "+1", "01", "-01", "1.", ".1", "1e", "1e+", "1e--1", "1e+-1", "1.e1", "1,0", " 1",
		"1 ", "0x1", "1_0", "NaN", "Inf", "١", "1e99999999999", "1e1.5", "--1", "1e1e1", "1.1.1"} {
		if d, ok := parseDecimal(s); ok {
			t.Errorf("%q is accepted as %+v", s, d)
		}
	}
	for s, want := range map[string]bool{"0": true, "1": true, "1.0": true, "1.5": false, "1.5e1": true, "1e-1": false,
		"100e-2": true, "-7": true, "1e30": true} {
		if isInteger(s) != want {
			t.Errorf("%s: whole is %t, want %t", s, !want, want)
		}
	}
}
