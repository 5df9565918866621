package store

// Silence keeps a process from giving signs of life, as if it had died.
func (d *DB) Silence() {
	d.silent.Store(true)
	d.claims.mu.Lock()
	defer d.claims.mu.Unlock()
	if d.claims.lock != nil {
		d.claims.lock.Close()
	}
}
