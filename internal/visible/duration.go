package visible

import (
	"strings"
	"time"
)

// Duration writes a duration without trailing zero units: 10m and not 10m0s.
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
