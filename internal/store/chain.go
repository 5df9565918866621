package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A Head is the end of a chain.
type Head struct {
	Chain int64
	Seq   int64    // of its last entry; 0 if it has none
	Hash  [32]byte // of its last entry
}

// A Row is one entry of the record in the form of the database.
type Row struct {
	Chain, Seq int64
	Time       int64 // microseconds since 1970
	Kind       string
	State      string
	Run        string
	Call       int64
	Principal  string
	Profile    string
	Tool       string
	Hash       [32]byte
	Body       string
	Sealed     string // bytes that Body has a digest of; a query reads them only with [Query.Sealed]
}

// A Signed is the latest signed checkpoint of a chain, as text, and the hashes from which the next one is computed. The
// chain may extend beyond that checkpoint, so Tail authenticates the end itself. This package does not interpret them.
// All are zero for a chain that was never signed.
type Signed struct {
	Note string
	Tree []byte
	Tail []byte
}

// An End is the end of a chain and its signatures at one moment.
type End struct {
	Head
	Signed
	OpenFrom int64  // the first entry with a call that may still be open
	Pruning  string // as [EntryTable.Prune] got it; "" if nothing was removed
}

// A Chain is the right to append to one chain of the record. It belongs to one goroutine at a time.
type Chain struct {
	db     *DB
	head   Head
	sign   func(rows []Row) (*Signed, error) // nil signs nothing
	signed Signed                            // when it was claimed
	lock   *os.File                          // SQLite: held by the process; nil for PostgreSQL

	// PostgreSQL: the owner, as the database knows it. It changes after an append without an answer, because the
	// database may still perform the append: see [Chain.fence].
	name atomic.Pointer[string]
	next string // the name that an attempted change would set

	stop   context.CancelFunc
	beside sync.WaitGroup

	// SQLite: a connection with prepared statements.
	of         *sql.DB
	conn       *sql.Conn
	statements []*sql.Stmt       // all of them
	inserts    map[int]*sql.Stmt // by the number of rows that they insert
	sequence   *sql.Stmt
	seal       *sql.Stmt
	find       *sql.Stmt
	begin      *sql.Stmt
	commit     *sql.Stmt
	block      int64           // the first entry of the last block
	found      map[string]bool // the runs with a row for that block
}

const (
	// beatEvery is how often the owner of a chain in PostgreSQL sends a heartbeat. deadAfter is how long it may be
	// silent, by the database's clock, before another process may take over the chain.
	beatEvery = 5 * time.Second
	deadAfter = 30 * time.Second
	// closedChain owns a closed chain. The calls that are open in it are still settled.
	closedChain = "closed"
	// maxChains bounds how many processes may write one SQLite file at once.
	maxChains = 1000
)

// Claim takes a chain that has no writer and that fit accepts, or begins a new one. A nil fit accepts every chain. With
// [ErrTaken], fit says that the chain is closed; any other error is logged.
func (d EntryTable) Claim(ctx context.Context, fit func(Head, Signed) error) (*Chain, error) {
	if fit == nil {
		fit = func(Head, Signed) error { return nil }
	}
	if d.db.Fleet() {
		return d.claimPostgres(ctx, fit)
	}
	for n := int64(1); n <= maxChains; n++ {
		c, err := d.claimFile(ctx, n, fit)
		if c != nil || err != nil {
			return c, explain(err)
		}
	}
	return nil, fmt.Errorf("more than %d processes write the record at once", maxChains)
}

// claimFile takes chain n; nil means that another process has it, or that fit refused it.
func (d EntryTable) claimFile(ctx context.Context, n int64, fit func(Head, Signed) error) (*Chain, error) {
	lock, err := tryLock(d.db.conns.file.path + "-chain-" + strconv.FormatInt(n, 10))
	if lock == nil {
		return nil, err
	}
	fail := func(err error) (*Chain, error) { return nil, errors.Join(err, lock.Close()) }
	if _, err := d.db.exec(ctx, `INSERT INTO chains (number, seq, hash, open_from) VALUES ($1, 0, zeroblob(32), 1) ON CONFLICT DO NOTHING`, n); err != nil {
		return fail(err)
	}
	said, written, err := d.headOf(ctx, n)
	if err != nil {
		return fail(err)
	}
	if said != written {
		d.db.log.Error("a chain of the record does not end where its writer left it, so this process begins another one; run: codemode audit verify",
			"chain", n, "left", said.Seq, "ends", written.Seq)
		return fail(nil)
	}
	signed, err := d.signedAt(ctx, n)
	if err != nil {
		return fail(err)
	}
	if err := fit(said, signed); err != nil {
		d.unfit(n, err)
		return fail(nil)
	}
	return &Chain{db: d.db, head: said, signed: signed, lock: lock}, nil
}

func (d EntryTable) unfit(n int64, err error) {
	if errors.Is(err, ErrTaken) {
		return
	}
	d.db.log.Error("a chain of the record does not match its signature, so this process begins another one; run: codemode audit verify", "chain", n, "error", err)
}

// signedAt reads the checkpoint of a chain.
func (d EntryTable) signedAt(ctx context.Context, n int64) (s Signed, err error) {
	err = d.db.each(ctx, func(scan func(...any) error) error { return scan(&s.Note, &s.Tree, &s.Tail) },
		`SELECT checkpoint, tree, tail FROM chains WHERE number = $1`, n)
	return s, err
}

// headOf reads where a chain should end and where it ends.
func (d EntryTable) headOf(ctx context.Context, n int64) (said, written Head, err error) {
	pool, done, err := d.db.conns.use(ctx)
	if err != nil {
		return said, written, err
	}
	defer done()
	return headOf(ctx, pool, n)
}

func headOf(ctx context.Context, pool *sql.DB, n int64) (said, written Head, err error) {
	said.Chain, written.Chain = n, n
	var hash, last []byte
	err = pool.QueryRowContext(ctx, `SELECT c.seq, c.hash, COALESCE(e.seq, 0), e.hash FROM chains c
		LEFT JOIN entries e ON e.chain = c.number AND e.seq = (SELECT max(seq) FROM entries WHERE chain = c.number)
		WHERE c.number = $1`, n).Scan(&said.Seq, &hash, &written.Seq, &last)
	copy(said.Hash[:], hash)
	copy(written.Hash[:], last)
	return said, written, err
}

func (d EntryTable) claimPostgres(ctx context.Context, fit func(Head, Signed) error) (*Chain, error) {
	c, name := &Chain{db: d.db}, newOwner()
	c.name.Store(&name)
	for {
		var hash []byte
		pool, done, err := d.db.conns.use(ctx)
		if err != nil {
			return nil, err
		}
		err = pool.QueryRowContext(ctx, `UPDATE chains SET owner = $1, beat = now() WHERE number =
			(SELECT number FROM chains WHERE owner = '' OR beat < now() - $2::interval ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
			RETURNING number, seq, hash`, name, deadAfter.String()).Scan(&c.head.Chain, &c.head.Seq, &hash)
		if errors.Is(err, sql.ErrNoRows) {
			err = pool.QueryRowContext(ctx, `INSERT INTO chains (number, seq, hash, open_from, owner)
				SELECT COALESCE(max(number), 0) + 1, 0, $2, 1, $1 FROM chains ON CONFLICT DO NOTHING RETURNING number, seq, hash`,
				name, make([]byte, 32)).Scan(&c.head.Chain, &c.head.Seq, &hash)
		}
		done()
		if errors.Is(err, sql.ErrNoRows) {
			continue // another replica took the number
		}
		if err != nil {
			return nil, explain(err)
		}
		copy(c.head.Hash[:], hash)
		_, written, err := d.headOf(ctx, c.head.Chain)
		if err != nil {
			return nil, errors.Join(explain(err), c.release(ctx))
		}
		if c.signed, err = d.signedAt(ctx, c.head.Chain); err != nil {
			return nil, errors.Join(err, c.release(ctx))
		}
		unfit := fit(c.head, c.signed)
		if written == c.head && unfit == nil {
			break
		}
		// From now on nobody owns it: its heartbeat never expires.
		nobody := "nobody"
		if written == c.head && errors.Is(unfit, ErrTaken) {
			nobody = closedChain
		}
		if _, err := d.db.exec(ctx, `UPDATE chains SET owner = $2, beat = 'infinity' WHERE number = $1`,
			c.head.Chain, nobody); err != nil {
			return nil, err
		}
		if written == c.head {
			d.unfit(c.head.Chain, unfit)
			continue
		}
		d.db.log.Error("a chain of the record does not end where its writer left it, so this process begins another one; run: codemode audit verify",
			"chain", c.head.Chain, "left", c.head.Seq, "ends", written.Seq)
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.beside.Go(func() { c.beat(beside) })
	return c, nil
}

// beat sends heartbeats, which keep other replicas from taking the chain while there is nothing to append.
func (c *Chain) beat(ctx context.Context) {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		_, err := c.db.exec(ctx, `UPDATE chains SET beat = now() WHERE number = $1 AND owner = $2`,
			c.head.Chain, *c.name.Load())
		if err != nil && ctx.Err() == nil {
			c.db.log.Debug("a heartbeat did not reach the database", "error", err)
		}
	}
}

// Head returns the end of the chain after the last acknowledged append.
func (c *Chain) Head() Head { return c.head }

// Signed returns the signatures of the chain when this process claimed it.
func (c *Chain) Signed() Signed { return c.signed }

// SignWith makes all later appends signed: sign receives the rows before each append, and returns the signatures to
// write with them. Without a note the checkpoint and the hashes stay as they are. sign must not use the database.
func (c *Chain) SignWith(sign func(rows []Row) (*Signed, error)) { c.sign = sign }

// Seal writes the checkpoint of the end without an append.
func (c *Chain) Seal(ctx context.Context, s Signed) error {
	n, err := c.db.exec(ctx, `UPDATE chains SET checkpoint = $1, tree = $2 WHERE number = $3 AND seq = $4 AND hash = $5`,
		s.Note, s.Tree, c.head.Chain, c.head.Seq, c.head.Hash[:])
	if err == nil && n != 1 {
		err = ErrFenced
	}
	return err
}

// fence voids an append that got no answer: PostgreSQL performs a statement that it has read even when the sender is
// gone. An append names the owner, so a change of the owner's name voids it. fence reports whether this writer still
// owns the chain. It repeats an attempt without an answer under the same name.
func (c *Chain) fence(ctx context.Context) (mine bool, err error) {
	if c.lock != nil {
		return true, nil
	}
	if c.next == "" {
		c.next = newOwner()
	}
	n, err := c.db.perform(ctx, `UPDATE chains SET owner = $1, beat = now() WHERE number = $2 AND owner IN ($1, $3)`,
		c.next, c.head.Chain, *c.name.Load())
	if err != nil {
		return false, err
	}
	c.db.stall.heard()
	if n == 1 {
		name := c.next
		c.name.Store(&name)
		c.next = ""
	}
	return n == 1, nil
}

func newOwner() string { return "w_" + rand.Text() }

// Release gives the chain up. The database must still be open.
func (c *Chain) Release(ctx context.Context) error {
	if c.stop != nil {
		c.stop()
		c.beside.Wait()
	}
	return c.release(ctx)
}

func (c *Chain) release(ctx context.Context) error {
	if c.lock != nil {
		c.drop()
		return c.lock.Close()
	}
	_, err := c.db.exec(ctx, `UPDATE chains SET owner = '' WHERE number = $1 AND owner = $2`,
		c.head.Chain, *c.name.Load())
	return err
}

// drop closes the connection, if there is one.
func (c *Chain) drop() {
	c.db.conns.keep(c, nil)
	c.close()
}

func (c *Chain) close() {
	for _, s := range c.statements {
		s.Close()
	}
	if c.conn != nil {
		_, _ = c.conn.ExecContext(context.Background(), c.db.conns.patient()) // for the next user; broken ones are thrown away
		c.conn.Close()
	}
	c.of, c.conn, c.statements = nil, nil, nil
}
