package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options select the database. One of Path and URL is required.
type Options struct {
	Path string // of the SQLite file; its folder must exist
	URL  string // of a PostgreSQL database: postgres://user@host/name

	// ReadOnly allows only queries; the database must exist and have this version.
	ReadOnly bool

	// Relaxed allows a power cut to lose the last few acknowledged rows. They always survive the death of the process.
	// SQLite only.
	Relaxed bool
	// Wait bounds the wait for a database that another process has locked; zero means five seconds.
	Wait time.Duration

	// SealKey, of 32 bytes, encrypts the arguments and results in questions, answers, parked runs and outcomes.
	// Processes that share the database share the key. Nil stores them in clear.
	SealKey []byte

	Now func() time.Time // nil is time.Now
	Log *slog.Logger     // nil discards
}

// defaultWait bounds the wait for a locked database.
const defaultWait = 5 * time.Second

// connections are those to the database. One to a file or a log that is gone would corrupt the new file, so each use
// checks that the file is still the one that was opened, and opens another one with the same identity.
type connections struct {
	options Options
	file    *file // nil for PostgreSQL

	gate   sync.RWMutex // held for reading while connections are in use, and for writing to reopen the file
	pool   *sql.DB      // nil while reopening the file fails
	id     string
	closed bool

	used   atomic.Bool // since the last health check of the file
	heldMu sync.Mutex
	held   map[any]func() // closes connections that are held for long, by holder
}

// use returns the connections, after checking that the file is still the one that was opened. The caller must call done
// soon, and must not use the DB in between.
func (c *connections) use(ctx context.Context) (pool *sql.DB, done func(), err error) {
	for range 2 {
		anew := false
		if c.gate.RLock(); c.closed {
			err = errClosed
		} else if c.file != nil {
			anew, err = c.checkFile()
		}
		if err == nil && !anew {
			c.used.Store(true)
			return c.pool, c.gate.RUnlock, nil
		}
		if c.gate.RUnlock(); err == nil {
			err = c.reopen(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, &failure{reason: reasonOther,
		Err: errors.New("somebody replaces the file of the record again and again")}
}

// keep records that who has its own connections, which drop closes; a nil drop removes the entry.
func (c *connections) keep(who any, drop func()) {
	c.heldMu.Lock()
	defer c.heldMu.Unlock()
	if drop == nil {
		delete(c.held, who)
	} else {
		c.held[who] = drop
	}
}

// inTransaction runs f in a transaction of its own.
func (c *connections) inTransaction(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	pool, done, err := c.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := c.begin(ctx, conn)
	if err != nil {
		return err
	}
	if c.file != nil { // from here on this waits for the disk alone
		ctx = context.WithoutCancel(ctx)
	}
	if err := f(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// probeWait bounds a ping.
const probeWait = 3 * time.Second

func (c *connections) ping(ctx context.Context) error {
	pool, done, err := c.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	return pool.PingContext(ctx)
}

// end refuses all further uses; it reports whether it is the first to do so.
func (c *connections) end() bool {
	c.gate.Lock()
	defer c.gate.Unlock()
	first := !c.closed
	c.closed = true
	return first
}

// close waits for the uses in progress, and closes all connections.
func (c *connections) close() error {
	c.gate.Lock()
	defer c.gate.Unlock()
	return c.closePool()
}

// closePool closes all connections. The caller holds the gate for writing.
func (c *connections) closePool() error {
	c.heldMu.Lock()
	for _, drop := range c.held {
		drop()
	}
	clear(c.held)
	c.heldMu.Unlock()
	if c.pool == nil {
		return nil
	}
	err := c.pool.Close()
	c.pool = nil
	if c.file != nil {
		c.file.close()
	}
	return err
}
