// Package small is what the test of the command tries mistakes in.
package small

// Between reports whether x is from low to high.
func Between(x, low, high int) bool {
	return x >= low && x <= high
}

// Sum adds up.
func Sum(all []int) (sum int) {
	for _, x := range all {
		sum = sum + x
	}
	return sum
}

// Untried is what no test comes past.
func Untried(a, b int) bool { return a == b }
