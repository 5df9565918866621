package store

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestTheAddressOfADatabaseIsNotShown opens databases whose address has a secret in it, in ways that fail.
func TestTheAddressOfADatabaseIsNotShown(t *testing.T) {
	for _, url := range []string{
		"postgres://u:c4n4ry@127.0.0.1:1/name?connect_timeout=1", "postgres://127.0.0.1:1/name?password=c4n4ry",
		"postgres://u:%zzc4n4ry@127.0.0.1/name", "postgres://u:p/c4n4ry@127.0.0.1/name",
		"postgres://u@127.0.0.1:c4n4ry/name", "postgres://u:c4n4ry@127.0.0.1/name?sslmode=c4n4ry",
		"postgres://u@127.0.0.1:1/name?sslmode=require&sslpassword=c4n4ry&sslrootcert=/nowhere",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		db, err := Open(ctx, Options{URL: url})
		cancel()
		if err == nil {
			db.Close()
			t.Errorf("%s was opened", url)
		} else if strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
