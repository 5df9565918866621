package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
)

// A failure says why the database is currently unavailable. Most causes disappear by themselves or with the help of a
// person, so the next attempt may succeed.
type failure struct {
	reason string // without names of files and hosts
	Err    error
}

// Reason is a sentence without names of files, hosts or users.
func (e *failure) Reason() string { return e.reason }

func (e *failure) Error() string {
	if e.Err == nil {
		return e.reason
	}
	return fmt.Sprintf("%s: %v", e.reason, e.Err)
}

func (e *failure) Unwrap() error { return e.Err }

var (
	// ErrNotFound is the error for a row that does not exist, or no longer exists.
	ErrNotFound = errors.New("there is no such row")
	// ErrTaken is the error for a second attempt at something that happens once: an answer, a use, a claim.
	ErrTaken = errors.New("this happens once, and has happened already")
	// ErrFenced is the error of a [Chain] that another process writes to, or that does not end where its writer left
	// it. It is permanent; claim another chain.
	ErrFenced = errors.New("this writer no longer owns the chain")
	// errClosed is the error of a closed [DB].
	errClosed = errors.New("the store is closed")
)

// The recognised reasons.
const (
	reasonFull        = "the disk of the record is full"
	reasonReadOnly    = "the record is read-only"
	reasonLocked      = "the record is locked by another program"
	reasonDeleted     = "the file of the record was deleted"
	reasonReplaced    = "the file of the record was replaced by another one"
	reasonDamaged     = "the file of the record is damaged"
	reasonDisk        = "the disk of the record reports errors"
	reasonUnopened    = "the file of the record cannot be opened"
	reasonUnreachable = "the database of the record cannot be reached"
	reasonStalled     = "the record did not answer in time"
	reasonLayout      = "the database of the record was written by another version of codemode"
	reasonOther       = "the record cannot be written"
)

// The result codes of SQLite that say why (sqlite.org/rescode.html).
const (
	sqlitePerm     = 3
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// explain adds a reason to an error of a driver.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*failure](err); ok || errors.Is(err, ErrFenced) || errors.Is(err, errClosed) ||
		errors.Is(err, ErrNotFound) || errors.Is(err, ErrTaken) {
		return err
	}
	return &failure{reason: reason(err), Err: err}
}

func reason(err error) string {
	if lite, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		switch lite.Code() & 0xff {
		case sqliteFull:
			return reasonFull
		case sqliteReadOnly, sqlitePerm:
			return reasonReadOnly
		case sqliteBusy, sqliteLocked:
			return reasonLocked
		case sqliteCorrupt, sqliteNotADB:
			return reasonDamaged
		case sqliteIOErr:
			return reasonDisk
		case sqliteCantOpen:
			return reasonUnopened
		}
		return reasonOther
	}
	if pg, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		switch code := pg.SQLState(); {
		case code == "57014": // statement_timeout
			return reasonStalled
		case code == "53100":
			return reasonFull
		case code == "25006":
			return reasonReadOnly
		case code == "55P03", code == "40P01":
			return reasonLocked
		case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"),
			strings.HasPrefix(code, "28"):
			return reasonUnreachable
		}
		return reasonOther
	}
	if errors.Is(err, context.DeadlineExceeded) { // which is a net.Error too
		return reasonStalled
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, net.ErrClosed) ||
		Postgres != nil && Postgres.Unreachable(err) {
		return reasonUnreachable
	}
	if errors.Is(err, fs.ErrPermission) {
		return reasonReadOnly
	}
	return reasonOther
}
