// Package iofault is a file layer for tests of the store: it lies below SQLite, above the real files, and fails when
// it is told to, or remembers what was written and synced, so that a test can look at what a power cut would have
// left.
package iofault

import (
	"errors"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The layer is a copy of the library's own "virtual file system" whose methods pass on what they are asked to do,
// after they asked the disk. There is one per process, because the library has one list of them.
var (
	install sync.Once
	layer   *sqlite3.Tsqlite3_vfs
	below   *sqlite3.Tsqlite3_vfs
	disk    = &Disk{open: map[uintptr]*file{}}
)

// A file is one that is open through the layer. The library has several tables of methods, for files with locks and
// without.
type file struct {
	path     string
	synced   bool // at least once, which syncs the folder too for a log or a journal
	real     *sqlite3.Tsqlite3_io_methods
	replaced *sqlite3.Tsqlite3_io_methods
}

// Install puts the layer below every database that this process opens from now on. Until it is told otherwise it only
// passes on.
func Install() *Disk {
	install.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		below = at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
		layer = allocate[sqlite3.Tsqlite3_vfs](tls)
		*layer = *below
		name, err := libc.CString("iofault") // never freed: the library keeps it
		if err != nil {
			panic(err)
		}
		layer.FzName, layer.FpNext = name, 0
		layer.FxOpen, layer.FxDelete = pointer(xOpen), pointer(xDelete)
		if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(layer)), 1); rc != sqlite3.SQLITE_OK {
			panic(errors.New("the file layer cannot be registered"))
		}
	})
	return disk
}

// at is what lies at an address of the library's memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// allocate makes room in the library's memory: it calculates with addresses, which Go's own memory is not for.
func allocate[T any](tls *libc.TLS) *T {
	var size T
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(size)))
	if p == 0 {
		panic(errors.New("no memory for the file layer"))
	}
	return at[T](p)
}

// call makes a function of one of the library's pointers, and pointer the reverse.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

func pointer(f any) uintptr { return (*(*[2]uintptr)(unsafe.Pointer(&f)))[1] }

func text(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// bytes are what the library has at an address.
func bytes(p uintptr, n int32) []byte { return unsafe.Slice(at[byte](p), n) }

func xOpen(tls *libc.TLS, vfs, name, address uintptr, flags int32, out uintptr) int32 {
	path := text(name)
	if disk.fails(open, path) {
		at[sqlite3.Tsqlite3_file](address).FpMethods = 0
		return sqlite3.SQLITE_CANTOPEN
	}
	rc := call[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](below.FxOpen)(tls,
		uintptr(unsafe.Pointer(below)), name, address, flags, out)
	f := at[sqlite3.Tsqlite3_file](address)
	if rc != sqlite3.SQLITE_OK || f.FpMethods == 0 {
		return rc
	}
	opened := &file{path: path, real: at[sqlite3.Tsqlite3_io_methods](f.FpMethods)}
	m := allocate[sqlite3.Tsqlite3_io_methods](tls)
	*m, opened.replaced = *opened.real, m
	m.FxClose, m.FxRead, m.FxWrite, m.FxTruncate, m.FxSync = pointer(xClose), pointer(xRead), pointer(xWrite),
		pointer(xTruncate), pointer(xSync)
	f.FpMethods = uintptr(unsafe.Pointer(m))
	disk.mu.Lock()
	defer disk.mu.Unlock()
	disk.open[address] = opened
	return rc
}

func xDelete(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	path := text(name)
	if disk.fails(remove, path) {
		return sqlite3.SQLITE_IOERR_DELETE
	}
	rc := call[func(*libc.TLS, uintptr, uintptr, int32) int32](below.FxDelete)(tls, uintptr(unsafe.Pointer(below)), name,
		syncDir)
	if rc == sqlite3.SQLITE_OK {
		disk.did(op{kind: remove, path: path})
	}
	return rc
}

func xClose(tls *libc.TLS, address uintptr) int32 {
	f := disk.file(address)
	disk.mu.Lock()
	delete(disk.open, address)
	disk.mu.Unlock()
	at[sqlite3.Tsqlite3_file](address).FpMethods = uintptr(unsafe.Pointer(f.real))
	libc.Xfree(tls, uintptr(unsafe.Pointer(f.replaced)))
	return call[func(*libc.TLS, uintptr) int32](f.real.FxClose)(tls, address)
}

func xRead(tls *libc.TLS, address, buffer uintptr, n int32, offset int64) int32 {
	f := disk.file(address)
	if disk.fails(read, f.path) {
		return sqlite3.SQLITE_IOERR_READ
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.real.FxRead)(tls, address, buffer, n, offset)
}

func xWrite(tls *libc.TLS, address, buffer uintptr, n int32, offset int64) int32 {
	f := disk.file(address)
	write := call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.real.FxWrite)
	if disk.fails(write_, f.path) {
		write(tls, address, buffer, n/2, offset) // half of it got there
		return sqlite3.SQLITE_IOERR_WRITE
	}
	rc := write(tls, address, buffer, n, offset)
	if rc == sqlite3.SQLITE_OK {
		disk.did(op{kind: write_, path: f.path, offset: offset, data: bytes(buffer, n)})
	}
	return rc
}

func xTruncate(tls *libc.TLS, address uintptr, size int64) int32 {
	f := disk.file(address)
	if disk.fails(truncate, f.path) {
		return sqlite3.SQLITE_IOERR_TRUNCATE
	}
	rc := call[func(*libc.TLS, uintptr, int64) int32](f.real.FxTruncate)(tls, address, size)
	if rc == sqlite3.SQLITE_OK {
		disk.did(op{kind: truncate, path: f.path, offset: size})
	}
	return rc
}

func xSync(tls *libc.TLS, address uintptr, flags int32) int32 {
	f := disk.file(address)
	if disk.fails(sync_, f.path) {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	rc := call[func(*libc.TLS, uintptr, int32) int32](f.real.FxSync)(tls, address, flags)
	if rc == sqlite3.SQLITE_OK {
		disk.did(op{kind: sync_, path: f.path, folder: !f.synced && (strings.HasSuffix(f.path, "-wal") ||
			strings.HasSuffix(f.path, "-journal"))})
		f.synced = true
	}
	return rc
}
