package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/replace"
)

// agreed asks the person at the terminal. Where nobody is, --install, --undo or --yes is the answer. A no has no error.
func agreed(ctx context.Context, s cli.Streams, o *initOptions) (bool, error) {
	if o.yes {
		return true, nil
	}
	if cli.TerminalFile(s.In) == nil {
		if o.install || o.undo {
			return true, nil
		}
		return false, cli.UsageError(errors.New("nothing was written: nobody is at a terminal to say yes, so add --yes"))
	}
	fmt.Fprint(s.Out, "\nGo on? [y/N] ")
	line, err := cli.Typed(ctx, func() (string, error) { return bufio.NewReader(s.In).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return false, cli.InternalError(err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return true, nil
	}
	fmt.Fprintln(s.Out, "Nothing was changed.")
	return false, nil
}

// writePrivate writes a file that only its owner can read. Without force it refuses to overwrite one; with it, the old
// file stays until the new one is complete.
func writePrivate(path string, data []byte, force bool) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	switch {
	case err != nil:
	case force:
		err = replace.File(path, data, 0o600)
	default:
		err = cli.WriteNew(path, data)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}
