package bench

import (
	"math"
	"time"
)

func ms(d time.Duration) float64 { return Round(float64(d) / float64(time.Millisecond)) }

func us(d time.Duration) float64 { return Round(float64(d) / float64(time.Microsecond)) }

// Round keeps three digits after the point.
func Round(x float64) float64 { return math.Round(x*1000) / 1000 }

// Quantile is the nearest-rank quantile of sorted samples.
func Quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}
