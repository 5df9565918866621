package small

import "testing"

func TestBetween(t *testing.T) {
	for x, want := range map[int]bool{0: false, 1: true, 2: true, 4: false} { // 3 is not tried
		if Between(x, 1, 3) != want {
			t.Errorf("%d: got %t", x, !want)
		}
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]int{1, 2}); got != 3 {
		t.Errorf("got %d", got)
	}
}
