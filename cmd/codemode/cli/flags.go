package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/codemode-project/codemode/internal/visible"
)

// FlagError adds to the error of a flag that a command does not have which one is near, and where all are listed.
func FlagError(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	meant := ""
	if near := visible.Nearest(unknown.GetSpecifiedName(), known); near != "" {
		meant = fmt.Sprintf("did you mean --%s? ", near)
	}
	return fmt.Errorf("%w; %s%s --help lists the flags", err, meant, c.CommandPath())
}
