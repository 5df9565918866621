package audit

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/codemode-project/codemode/store"
)

// records are the three files that people keep apart: what programs did, how the rules changed, who was let in.
var records = map[string]string{
	Run: "executions.jsonl", Call: "executions.jsonl", Approval: "executions.jsonl", Grant: "executions.jsonl",
	Policy: "policy.jsonl", Access: "access.jsonl",
}

// Split writes the entries that fit q to executions.jsonl, policy.jsonl and access.jsonl in a folder, by time. The files
// are sanitised as the record itself is.
func Split(ctx context.Context, dir string, db *store.DB, q store.Query) (n int, err error) {
	open := map[string]*bufio.Writer{}
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, name := range []string{"executions.jsonl", "policy.jsonl", "access.jsonl"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		files = append(files, f)
		open[name] = bufio.NewWriter(f)
	}
	err = Entries(ctx, db, q, func(e *Entry) error {
		w := open[records[e.Kind]]
		if w == nil {
			return nil // about the record itself
		}
		n++
		_, err := w.Write(append(e.Line(), '\n'))
		return err
	})
	for _, w := range open {
		err = errors.Join(err, w.Flush())
	}
	return n, err
}
