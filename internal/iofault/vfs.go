// Package iofault is a file layer for tests of the store. It lies below SQLite and above the real files. It fails on
// demand, or records what was written and synced, so that a test can inspect what a power cut would have left.
package iofault

import (
	"errors"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The layer is a copy of the library's own "virtual file system". Its methods ask the disk and then pass the operation
// on. There is one per process, because the library has one list of them.
var (
	install sync.Once
	layer   *sqlite3.Tsqlite3_vfs
	below   *sqlite3.Tsqlite3_vfs
	disk    = &Disk{open: map[uintptr]*file{}}
)

// A file is open through the layer. The library has several method tables, for files with and without locks.
type file struct {
	path     string
	synced   bool // at least once; for a log or a journal that also syncs the folder
	real     *sqlite3.Tsqlite3_io_methods
	replaced *sqlite3.Tsqlite3_io_methods
}

// Install puts the layer below every database that this process opens from now on. By default it only passes operations
// on.
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

// at returns the value at an address of the library's memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// allocate reserves room in the library's memory: the library does address arithmetic, which Go's own memory does not
// allow.
func allocate[T any](tls *libc.TLS) *T {
	var size T
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(size)))
	if p == 0 {
		panic(errors.New("no memory for the file layer"))
	}
	return at[T](p)
}

// call converts one of the library's pointers to a function, and pointer does the reverse.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

func pointer(f any) uintptr { return (*(*[2]uintptr)(unsafe.Pointer(&f)))[1] }

func text(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// bytes returns the library's memory at an address.
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
		write(tls, address, buffer, n/2, offset) // half of it is written
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
