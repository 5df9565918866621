package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// Age is the time since t, as one number with its unit.
func Age(t time.Time) string {
	switch d := time.Since(t).Round(time.Second); {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return t.Local().Format(time.DateOnly)
}

// Until is a time of day, with the date if that is not today.
func Until(t time.Time) string {
	t, now := t.Local(), time.Now()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// Zone is the time zone of the times on a page.
func Zone() string {
	name, _ := time.Now().Zone()
	return name
}

// Clock is a time with its seconds, with the date if that was not lately.
func Clock(t time.Time) string {
	if time.Since(t) > 20*time.Hour {
		return t.Local().Format("2006-01-02 15:04:05")
	}
	return t.Local().Format("15:04:05")
}

// Short is the beginning of a digest, with the name of its algorithm.
func Short(digest string) string {
	hex := digest[strings.IndexByte(digest, ':')+1:]
	return prompt.Words(digest[:len(digest)-len(hex)+min(len(hex), 12)])
}

// Size is a number of bytes in a larger unit.
func Size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
