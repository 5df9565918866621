package store

import "context"

// Silence keeps a process from giving signs of life, as if it had died.
func (d *DB) Silence() {
	d.silent.Store(true)
	d.claims.mu.Lock()
	defer d.claims.mu.Unlock()
	if d.claims.lock != nil {
		d.claims.lock.Close()
	}
}

// Exec performs a statement on a connection of d.
func Exec(d *DB, query string) (int64, error) { return d.exec(context.Background(), query) }

// FewOutcomes makes d keep as many outcomes of a principal as storetest wants.
func FewOutcomes(d *DB, most int) { d.mostOutcomes = most }
