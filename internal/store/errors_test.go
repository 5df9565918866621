package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Who is refused is told why, in words that are true: a database that takes too long is not one that cannot be reached.
func TestTheReasonSaysWhatIsWrongWithTheRecord(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "the record did not answer in time"},
		{fmt.Errorf("timeout: %w", context.DeadlineExceeded), "the record did not answer in time"},
		{&pgconn.PgError{Code: "57014"}, "the record did not answer in time"},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, "the database of the record cannot be reached"},
		{&pgconn.PgError{Code: "57P01"}, "the database of the record cannot be reached"},
		{&pgconn.PgError{Code: "53100"}, "the disk of the record is full"},
		{errors.New("something else"), "the record cannot be written"},
	} {
		if got := reason(test.err); got != test.want {
			t.Errorf("%v: %s, want %s", test.err, got, test.want)
		}
	}
}
