package auditcmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
)

// A keptResult is a kept result for programs.
type keptResult struct {
	Handle    string    `json:"handle"`
	Run       string    `json:"run"`
	Principal string    `json:"principal"`
	Profile   string    `json:"profile"`
	Bytes     int64     `json:"bytes"`
	MIMEType  string    `json:"mimeType,omitempty"` // of an image, audio or a file
	Untrusted bool      `json:"untrusted"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
}

func newAuditResults(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "results",
		Short: "List the results that are kept for later programs",
		Long: `Prints one line for each value or console output that did not fit into a reply and is kept,
and for each image, audio or file that a program kept: its handle, size and end, the run that
made it, for whom it is, and the MIME type. "untrusted" says that an untrusted server may have
written in it. What they hold is for their principal alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				all, err := db.Results.Of(cmd.Context(), nil)
				if err != nil {
					return err
				}
				for _, r := range all {
					if asJSON {
						err = cli.PrintJSONLine(s.Out, keptResult{r.Handle, r.Run, r.Principal, r.Profile, r.Bytes, r.MIMEType,
							r.Untrusted, r.Created, r.Expires})
					} else {
						_, err = fmt.Fprintln(s.Out, resultLine(r))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each result as JSON")
	return cmd
}

func resultLine(r *store.Result) string {
	line := fmt.Sprintf("%s  %d bytes  until %s  %s  profile=%s  principal=%s", r.Handle, r.Bytes,
		r.Expires.Local().Format("2006-01-02 15:04:05"), r.Run, quoted(r.Profile), quoted(r.Principal))
	if r.MIMEType != "" {
		line += "  " + quoted(r.MIMEType)
	}
	if r.Untrusted {
		line += "  untrusted"
	}
	return visible.Line(line)
}
