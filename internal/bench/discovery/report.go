package discovery

import (
	"encoding/json"
	"fmt"
	"io"
)

// A Report is what a measurement found: [Savings] or [Recall].
type Report interface {
	table() string
}

// Formats are the formats that [Write] supports.
var Formats = []string{"table", "json"}

// Write prints a report.
func Write(w io.Writer, format string, r Report) (err error) {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	case "table":
		_, err = io.WriteString(w, r.table())
	default:
		err = fmt.Errorf("there is no format %q", format)
	}
	return err
}

// percent prints a share with so many digits after the point.
func percent(n, of, digits int) string {
	return fmt.Sprintf("%.*f %%", digits, 100*float64(n)/float64(max(of, 1)))
}
