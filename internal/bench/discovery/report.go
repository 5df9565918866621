package discovery

import (
	"fmt"
	"io"

	"github.com/codemode-project/codemode/internal/bench/printed"
)

// A Report is what a measurement found: [Savings] or [Recall].
type Report interface {
	table() string
}

// Formats are the formats that [Write] supports.
var Formats = []string{"table", "json"}

// Write prints a report.
func Write(w io.Writer, format string, r Report) error {
	switch format {
	case "json":
		return printed.JSON(w, r)
	case "table":
		_, err := io.WriteString(w, r.table())
		return err
	}
	return printed.Unknown(format)
}

// percent prints a share with so many digits after the point.
func percent(n, of, digits int) string {
	return fmt.Sprintf("%.*f %%", digits, 100*float64(n)/float64(max(of, 1)))
}
